// The language switch keeps the place on the page: heading ids are the same in every language.
document.addEventListener("click", event => {
  const link = event.target.closest?.(".md-select__link[hreflang]")
  if (link) link.hash = location.hash
}, true)
