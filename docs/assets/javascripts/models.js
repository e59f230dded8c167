// A field for a model that suggests names, since no list of a thousand can be read.

import { element } from "./words.js"

// Letters and numbers, without accents: "convnext_tiny.fb_in1k" has the parts convnext, tiny, fb and in1k.
const plain = text => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
const parts = text => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean)

// The names that have all parts of a query in any order: first those that begin with it.
export const matching = (names, query) => {
  const wanted = parts(query)
  const found = names.filter(name => wanted.every(part => plain(name).includes(part)))
  const isLater = name => Number(!plain(name).startsWith(wanted[0] ?? ""))
  return found.sort((a, b) => isLater(a) - isLater(b))
}

// `input` is the field, and `names` those of all models by slug, to which more may be added. The `value` is the slug of
// the model that is named, else the text of the field. `offer` takes the slugs to suggest, in `list`.
export const modelChoice = (input, names) => {
  const list = element("datalist", { id: "models" })
  input.setAttribute("list", list.id)
  const typed = () => input.value.trim()
  const slug = name => Object.keys(names).find(each => names[each].toLowerCase() === name.toLowerCase())
  let left = []
  const suggest = () => list.replaceChildren(...left.map(each => element("option", { value: names[each] })))
  input.addEventListener("focus", suggest) // only once it is used: each suggestion is an element
  return {
    input,
    list,
    offer: slugs => {
      left = [...slugs]
      if (document.activeElement === input) suggest()
    },
    // Takes the first suggestion that has what was typed, else what `otherwise` returns for that.
    complete: otherwise => {
      if (slug(typed())) return
      const [name] = matching(left.map(each => names[each]), typed())
      input.value = name ?? names[otherwise(plain(typed()))] ?? input.value
    },
    get value() {
      return slug(typed()) ?? typed()
    },
    set value(value) {
      input.value = names[value] ?? value
    },
  }
}
