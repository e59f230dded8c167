// A field that finds one of many options by parts of its name: an ARIA combobox with a list below it.

const MOST = 50

// Letters and numbers in a row, without accents: "convnext_tiny.fb_in1k" is convnext tiny fb in1k.
const plain = text => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
const parts = text => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean)

// The options, as [value, label], whose labels have all parts of a query in any order: first those that begin with it.
export const matching = (options, query) => {
  const wanted = parts(query)
  const found = options.filter(([, label]) => wanted.every(part => plain(label).includes(part)))
  const isLater = ([, label]) => Number(!plain(label).startsWith(wanted[0] ?? ""))
  return found.sort((a, b) => isLater(a) - isLater(b))
}

// The group, as [value, label, beginning], whose beginning is the longest with which a query begins.
const groupOf = (groups, query) => groups.filter(([, , beginning]) => plain(query.trim()).startsWith(beginning)).sort(([, , a], [, , b]) => b.length - a.length).slice(0, 1)

// `root` holds the field, the list, a status, and a hidden input that keeps the value and tells its form of a choice.
// `say` returns the words for a number of options, of which some are shown. Returns what offers other options,
// and groups for what is not among them.
export const combobox = (root, say) => {
  const field = root.querySelector("[role=combobox]")
  const list = root.querySelector("[role=listbox]")
  const status = root.querySelector("[role=status]")
  const value = root.querySelector("input[type=hidden]")
  let options = []
  let groups = []
  let found = []
  let active = -1
  let isTyped = false

  const mark = at => {
    active = at
    for (const [place, option] of [...list.children].entries()) option.ariaSelected = String(place === at)
    if (at < 0) return field.removeAttribute("aria-activedescendant")
    field.setAttribute("aria-activedescendant", list.children[at].id)
    list.children[at].scrollIntoView({ block: "nearest" })
  }
  const item = ([, label], at) => {
    const made = Object.assign(document.createElement("li"), { id: `${list.id}-${at}`, role: "option" })
    made.append(Object.assign(document.createElement("bdi"), { textContent: label }))
    return made
  }
  const show = query => {
    const all = matching(options, query)
    found = [...all.slice(0, MOST), ...groupOf(groups, query)]
    list.replaceChildren(...found.map(item))
    status.textContent = say(all.length, Math.min(all.length, MOST))
    list.hidden = !found.length
    field.ariaExpanded = String(!list.hidden)
    mark(query ? Math.min(0, found.length - 1) : found.findIndex(([each]) => each === value.value))
  }
  const open = () => {
    isTyped = false
    show("")
    field.select()
  }
  const close = () => {
    list.hidden = true
    field.ariaExpanded = "false"
    status.textContent = ""
    isTyped = false
    mark(-1)
    field.value = options.find(([each]) => each === value.value)?.[1] ?? field.value
  }
  const choose = at => {
    value.value = found[at][0]
    close()
    value.dispatchEvent(new Event("input", { bubbles: true }))
  }

  const moves = {
    ArrowDown: () => mark((active + 1) % found.length),
    ArrowUp: () => mark((Math.max(active, 0) + found.length - 1) % found.length),
    Home: () => mark(0),
    End: () => mark(found.length - 1),
    Enter: () => active >= 0 && choose(active),
    Escape: close,
  }
  field.addEventListener("keydown", event => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (event.key === "Tab" && isTyped && active >= 0) return choose(active)
    if (list.hidden && !event.key.startsWith("Arrow")) return isTyped && event.key === "Escape" && close()
    if (!(event.key in moves) || (event.altKey && !list.hidden)) return
    event.preventDefault()
    event.stopPropagation()
    if (list.hidden) open()
    else moves[event.key]()
  })
  field.addEventListener("input", event => {
    event.stopPropagation() // nothing is chosen yet
    show(field.value)
    isTyped = Boolean(field.value)
  })
  field.addEventListener("click", () => list.hidden && open())
  field.addEventListener("blur", close)
  list.parentElement.addEventListener("mousedown", event => event.preventDefault()) // the field keeps the focus
  list.addEventListener("click", ({ target }) => {
    const at = [...list.children].indexOf(target.closest("[role=option]"))
    if (at >= 0) choose(at)
  })

  // Offers these options, with a name for the value if it is not among them.
  return (offered, name, others = []) => {
    options = offered
    groups = others
    if (!isTyped && list.hidden) field.value = options.find(([each]) => each === value.value)?.[1] ?? name
    else show(isTyped ? field.value : "")
  }
}
