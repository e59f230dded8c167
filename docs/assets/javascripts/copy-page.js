// Puts a button beside the link to the page as Markdown that copies it. Pages from an insecure address keep the link alone:
// browsers give them no clipboard.
for (const link of document.querySelectorAll(".page-actions:not(.is-ready) a")) {
  const actions = link.parentElement
  actions.classList.add("is-ready")
  if (!navigator.clipboard) continue
  const status = actions.querySelector("[role=status]")
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: link.dataset.copy })
  button.addEventListener("click", async () => {
    status.textContent = ""
    try {
      const response = await fetch(link.href)
      if (!response.ok) throw response
      await navigator.clipboard.writeText(await response.text())
      status.textContent = link.dataset.copied
    } catch {
      location.assign(link.href)
    }
  })
  actions.prepend(button)
}
