// Puts a button beside the link to the page as Markdown that copies it. Pages from an insecure address keep the link alone:
// browsers give them no clipboard.
for (const link of document.querySelectorAll(".page-actions:not(.is-ready) a")) {
  const actions = link.parentElement
  actions.classList.add("is-ready")
  if (!navigator.clipboard) continue
  const status = actions.querySelector("[role=status]")
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: link.dataset.copy })
  const text = async () => {
    const response = await fetch(link.href)
    if (!response.ok) throw response
    return new Blob([await response.text()], { type: "text/plain" })
  }
  button.addEventListener("click", () => {
    status.textContent = ""
    // Safari takes a promise, and nothing that comes later than the click.
    const item = new ClipboardItem({ "text/plain": text() })
    navigator.clipboard
      .write([item])
      .then(() => (status.textContent = link.dataset.copied))
      .catch(() => location.assign(link.href))
  })
  actions.prepend(button)
}
