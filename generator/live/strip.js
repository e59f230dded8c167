// Keeps the strip about the measurement of this machine up to date. The server answers when there is something new.

const strip = () => document.querySelector("[data-measuring]")
const seconds = number => new Promise(done => setTimeout(done, 1000 * number))
const shown = () => document.hidden && new Promise(done => document.addEventListener("visibilitychange", done, { once: true }))

const replace = html => {
  const made = document.createElement("template")
  made.innerHTML = html
  strip()?.replaceWith(made.content)
}

const follow = async () => {
  for (; strip(); await shown()) {
    const hidden = new AbortController()
    document.addEventListener("visibilitychange", () => hidden.abort(), { once: true }) // a browser opens few connections
    const { measuring } = strip().dataset
    try {
      const answer = await fetch(measuring, { signal: hidden.signal })
      if (strip()?.dataset.measuring === measuring) replace(answer.ok ? await answer.text() : "") // else another page was opened
    } catch {
      await seconds(1) // the server has ended, or is about to begin again
    }
  }
}

document.addEventListener("click", event => {
  const address = event.target.closest?.("[data-close]")?.dataset.close
  if (address) fetch(address, { method: "POST" }).then(() => strip()?.remove())
})

follow()
