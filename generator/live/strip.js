// Keeps the strip about the measurement of this machine up to date.

let shown = ""

setInterval(async () => {
  const strip = document.querySelector("[data-measuring]")
  if (!strip || document.hidden) return
  const answer = await fetch(strip.dataset.measuring).catch(() => null) // the server may have ended
  const html = answer?.ok ? await answer.text() : shown
  if (html !== shown && strip.isConnected) strip.outerHTML = shown = html // else another page was opened
}, 3000)

document.addEventListener("click", event => {
  const address = event.target.closest?.("[data-close]")?.dataset.close
  if (address) fetch(address, { method: "POST" }).then(() => document.querySelector("[data-measuring]")?.remove())
})
