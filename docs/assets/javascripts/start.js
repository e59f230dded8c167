// Starts the explorer and "Should I compile?". It is in the content, where instant navigation runs it.
for (const root of document.querySelectorAll("[data-start]:not([data-ready])")) {
  root.dataset.ready = ""
  const told = root.querySelector("[data-told]")
  told.hidden = false
  import(root.dataset.start)
    .then(({ start }) => start(root))
    .catch(() => told.replaceChildren(JSON.parse(root.dataset.texts).failed))
}
