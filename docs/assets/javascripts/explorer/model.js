// The filter of models: a field that suggests names, since no list of a thousand can be read.

import { element } from "./words.js"

// `names` are those of the models by slug. The `value` is the slug of the model that is named, else what was typed; its
// `part` is what names of models then have to contain.
export const modelChoice = (names, placeholder) => {
  const slugs = new Map(Object.entries(names).map(([slug, name]) => [name.toLowerCase(), slug]))
  const input = element("input", { name: "model", placeholder, autocomplete: "off", dir: "auto", spellcheck: false })
  const list = element("datalist", { id: "explorer-models" })
  input.setAttribute("list", list.id)
  const typed = () => input.value.trim()
  let left = []
  // Only once it is used: each suggestion is an element.
  input.addEventListener("focus", () => list.replaceChildren(...left.map(slug => element("option", { value: names[slug] }))))
  return {
    input,
    elements: [input, list],
    offer: slugs => (left = [...slugs]),
    get value() {
      return slugs.get(typed().toLowerCase()) ?? typed()
    },
    set value(value) {
      input.value = names[value] ?? value
    },
    get part() {
      return slugs.has(typed().toLowerCase()) ? "" : typed().toLowerCase()
    },
  }
}
