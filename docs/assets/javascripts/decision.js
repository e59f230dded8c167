// Starts the form of "Should I compile?". It is in the content, where instant navigation runs it.
for (const root of document.querySelectorAll("[data-decision]:not([data-ready])")) {
  root.dataset.ready = ""
  import("./decision/form.js")
    .then(({ start }) => start(root))
    .catch(() => root.querySelector(".decision-answer").replaceChildren(JSON.parse(root.dataset.texts).failed))
}
