// The language switch keeps the place on the page: heading ids are the same in every language. It stores the choice.
document.addEventListener("click", event => {
  const link = event.target.closest?.(".md-select__link[hreflang], .atlas-offer a")
  if (!link) return
  link.hash = location.hash
  __md_set("__language", link.hreflang)
}, true)

// Pages at the root offer the first language of the browser that the site has, until the reader chooses one.
const fitting = wanted => link => [wanted, wanted.split("-")[0]].includes(link.hreflang.toLowerCase())

const offered = links => {
  for (const wanted of navigator.languages) {
    const link = links.find(fitting(wanted.toLowerCase()))
    if (link) return link
  }
}

const offer = () => {
  const link = offered([...document.querySelectorAll(".md-select__link[hreflang]")])
  if (!link?.dataset.offer || link.lang === document.documentElement.lang || __md_get("__language")) return
  const { lang, dir, href, hreflang } = link
  const bar = Object.assign(document.createElement("aside"), { className: "atlas-offer", lang, dir, ariaLabel: link.text })
  const text = Object.assign(document.createElement("a"), { href, hreflang, text: link.dataset.offer })
  const dismiss = Object.assign(document.createElement("button"), { type: "button", title: link.dataset.dismiss })
  dismiss.ariaLabel = dismiss.title
  dismiss.addEventListener("click", () => {
    __md_set("__language", document.documentElement.lang)
    bar.remove()
  })
  bar.append(text, dismiss)
  document.querySelector("[data-md-component=announce]").replaceChildren(bar)
}

document$.subscribe(offer)
