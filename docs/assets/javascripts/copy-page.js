// Shows the button that copies the page as Markdown. Pages from an insecure address keep the link alone: browsers give them
// no clipboard.
for (const button of document.querySelectorAll(".page-actions button")) {
  const link = button.nextElementSibling
  const status = link.nextElementSibling
  const text = () => fetch(link.href).then(response => (response.ok ? response.text() : Promise.reject(response)))
  button.hidden = !navigator.clipboard
  button.onclick = () => {
    status.textContent = ""
    // Safari takes a promise, and nothing that comes later than the click.
    const copied = navigator.clipboard.write([new ClipboardItem({ "text/plain": text() })])
    copied.then(() => (status.textContent = button.dataset.copied), () => location.assign(link.href))
  }
}
