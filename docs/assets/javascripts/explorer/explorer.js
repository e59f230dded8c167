// Starts the explorer. It is in the content, where instant navigation runs it.
for (const root of document.querySelectorAll("[data-explorer]:not([data-ready])")) {
  root.dataset.ready = ""
  root.querySelector("[data-loading]").hidden = false
  const load = async url => (await fetch(url)).json() // fails on a 404 page
  const loaded = Promise.allSettled([load(root.dataset.explorer)]) // while the scripts load
  Intl.NumberFormat(document.documentElement.lang) // warms up number formatting, which is slow the first time
  import("./page.js")
    .then(({ start }) => loaded.then(([{ value }]) => start(root, value, () => load(root.dataset.details))))
    .catch(() => root.replaceChildren(JSON.parse(root.dataset.texts).says.failed))
}
