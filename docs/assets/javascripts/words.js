// Words in the language of the page, as elements and text.

export const element = (name, attributes, ...children) => {
  const made = Object.assign(document.createElement(name), name === "code" && { dir: "ltr" }, attributes)
  made.append(...children.flat())
  return made
}

// Isolates names and figures from right-to-left text.
export const isolated = text => (document.body.dir === "rtl" ? element("bdi", { dir: /[ء-ي]/.test(text) ? "rtl" : "ltr" }, text) : String(text))

// Fills the placeholders of a message, and returns a list of nodes to append.
export const say = (message, values) => message.split(/%\((\w+)\)s/).flatMap((part, at) => (at % 2 ? [values[part]].flat() : part ? [part] : []))

// A copy of a template for what `told` returns by name: elements with `data-if` stay if that is something, and those with
// `data-fill` hold it. Entries without content are left out.
export const filled = (template, told) => {
  const copy = template.content.cloneNode(true)
  for (const part of copy.querySelectorAll("[data-if]")) if (!told(part.dataset.if)) part.remove()
  for (const place of copy.querySelectorAll("[data-fill]")) {
    const content = told(place.dataset.fill)
    if (content && content.length !== 0) place.append(...[content].flat())
    else (place.closest("dl > div") ?? place).remove()
  }
  return copy
}
