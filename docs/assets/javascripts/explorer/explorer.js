// Starts the explorer. It stands in the content, where instant navigation runs it.
for (const root of document.querySelectorAll("[data-explorer]:not([data-ready])")) {
  root.dataset.ready = ""
  root.querySelector("[data-loading]").hidden = false
  const load = async url => {
    const response = await fetch(url)
    if (!response.ok) throw new Error(response.status)
    return response.json()
  }
  const loaded = Promise.allSettled([load(root.dataset.explorer)]) // meanwhile the scripts come
  Intl.NumberFormat(document.documentElement.lang) // and the words for numbers: the first time takes long
  import("./page.js").then(({ start }) => loaded.then(([{ value }]) => start(root, value)))
}
