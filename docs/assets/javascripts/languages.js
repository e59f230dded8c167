// The language switch keeps the place on the page: heading ids are the same in every language. It stores the choice, and so
// does the offer of another language, or its button that declines.
document.addEventListener("click", ({ target }) => {
  const chosen = target.closest?.(".md-select__link[hreflang], .atlas-offer > *")
  if (!chosen) return
  __md_set("__language", chosen.hreflang ?? document.documentElement.lang)
  if (chosen.href) chosen.hash = location.hash
  else chosen.parentElement.remove()
}, true)

// Pages at the root offer the first language of the browser that the site has, until the reader chooses one.
document$.subscribe(() => {
  const links = [...document.querySelectorAll(".md-select__link[hreflang]")]
  const wanted = navigator.languages.flatMap(each => [each, each.split("-")[0]]).map(each => each.toLowerCase())
  const found = wanted.map(code => links.find(({ hreflang }) => hreflang.toLowerCase() === code)).find(Boolean)
  const offer = found?.nextElementSibling // none at that of the page
  if (!offer || __md_get("__language")) return
  document.querySelector("[data-md-component=announce]").replaceChildren(offer.content.cloneNode(true))
})
