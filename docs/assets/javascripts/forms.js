// Shared by all forms.

import { element } from "./words.js"

// Sets the fields of a form to what is `given` by name, and the others to what the page says.
export const fill = (form, given) => {
  form.reset()
  for (const [name, value] of given) {
    const field = form.elements[name]
    if (!field) continue
    const before = field.value
    field.value = value
    field.value ||= before // the field has no such choice
    if (field.type === "checkbox") field.checked = true
  }
}

// Letters and numbers, without accents: "convnext_tiny.fb_in1k" has the parts convnext, tiny, fb and in1k.
const plain = text => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
const parts = text => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean)

// A field for a model that suggests names, since no list of a thousand can be read. `names` has those of all models by
// slug, and more may be added. The `value` is the slug of the model that is named, else the text of the field; that is also
// what the form holds. `offer` takes the slugs to suggest.
export const modelChoice = (input, names) => {
  const list = element("datalist", { id: "models" })
  input.after(list)
  input.setAttribute("list", list.id)
  let left = []
  const suggest = () => list.replaceChildren(...left.map(each => element("option", { value: names[each] })))
  input.addEventListener("focus", suggest) // only once it is used: each suggestion is an element
  const typed = () => input.value.trim()
  const slug = () => Object.keys(names).find(each => names[each].toLowerCase() === typed().toLowerCase())
  const model = {
    offer: slugs => {
      left = [...slugs]
      if (document.activeElement === input) suggest()
    },
    // Takes the first suggestion that has all parts of what was typed, best one that begins with it, else what `otherwise`
    // returns for that.
    complete: otherwise => {
      if (slug()) return
      const wanted = parts(typed())
      const found = left.map(each => names[each]).filter(name => wanted.every(part => plain(name).includes(part)))
      const name = found.find(each => plain(each).startsWith(wanted[0] ?? "")) ?? found[0]
      input.value = name ?? names[otherwise(plain(typed()))] ?? input.value
    },
    get value() {
      return slug() ?? typed()
    },
    set value(value) {
      input.value = names[value] ?? value
    },
  }
  input.form.addEventListener("formdata", ({ formData }) => formData.set(input.name, model.value))
  return model
}
