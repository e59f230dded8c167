// Starts the explorer. It stands in the content, where instant navigation runs it.
for (const root of document.querySelectorAll("[data-explorer]:not([data-ready])")) {
  root.dataset.ready = ""
  root.querySelector("[data-loading]").hidden = false
  const load = async url => (await fetch(url)).json() // a 404 page is no JSON
  const loaded = Promise.allSettled([load(root.dataset.explorer)]) // meanwhile the scripts come
  Intl.NumberFormat(document.documentElement.lang) // and the words for numbers: the first time takes long
  import("./page.js")
    .then(({ start }) => loaded.then(([{ value }]) => start(root, value)))
    .catch(() => root.replaceChildren(JSON.parse(root.dataset.texts).says.failed))
}
