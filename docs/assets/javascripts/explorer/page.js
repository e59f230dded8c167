// The explorer: a form, a chart and a table of the records that the page names. Its state is in the address.

import { makeChart } from "./chart.js"
import { asCsv, asJson, PAIR_COLUMNS, pairs, select, unpack } from "./data.js"
import { makeDetails } from "./details.js"
import { makeTable } from "./table.js"
import { element, figures, isolated, say } from "./words.js"

// Figures with their formats, and for the chart the logarithmic scales and the values that mean no change.
const measures = ({ ms, seconds, gigabytes, three, count, percent, ratio }) => ({
  eager_ms: { show: ms, tick: three, log: true },
  compiled_ms: { show: ms, tick: three, log: true, same: "x" },
  speedup: { show: ratio, tick: ratio, same: 1 },
  compiled_images_s: { show: three, tick: three, log: true },
  compile_cold_s: { show: seconds, tick: three, log: true },
  break_even_calls: { show: count, tick: count, log: true },
  compiled_peak_memory_gb: { show: gigabytes, tick: three, log: true },
  compiled_matmul_share: { show: percent, tick: percent },
})
const COORDINATES = ["model", "device", "batch_size", "compile_mode", "torch", "dtype", "origin"]
// The conclusion follows the name: a phone shows both. Sources come last.
const COLUMNS = [
  ...["model", "speedup", "verdict", "device", "batch_size", "compile_mode", "break_even_calls", "torch", "eager_ms", "compiled_ms"],
  ...["compiled_images_s", "compile_cold_s", "compiled_peak_memory_gb", "compiled_matmul_share", "dtype", "origin", "status"],
]
const X = "eager_ms"
const WIDE = "(min-width: 45em)" // as in explorer.css

// `columns` are those of the records, undefined if they failed to load.
export const start = async (root, columns) => {
  const texts = JSON.parse(root.dataset.texts)
  texts.figures = figures(texts)
  const { says, names, headings, noise } = texts
  if (!columns) return root.replaceChildren(element("p", {}, says.failed))
  const records = unpack(columns)
  const { rows } = records
  const known = measures(texts.figures)
  const shown = Object.keys(known).filter(id => rows.some(row => (row[id] ?? null) !== null))

  // Words for values

  const name = (column, value) => names[column]?.[value] ?? String(value)
  const figure = (value, show) => {
    if ((value ?? null) === null) return element("span", { className: "explorer-unknown" }, says.unknown)
    return isolated(value === Infinity ? says.never : show(value))
  }
  // Sorted as the filters offer them.
  const rank = column => {
    const order = Object.fromEntries(Object.keys(names[column]).map((value, at) => [value, at]))
    return row => order[row[column]] ?? null
  }
  const each = make => Object.fromEntries(texts.filters.map(column => [column, make(column)]))
  const ranks = each(rank)
  const named = (column, row) => name(column, row[column])
  const coordinate = id => ({ id, heading: headings[id], number: id === "batch_size", show: row => isolated(named(id, row)), rank: ranks[id] })
  const dot = document.body.dir === "rtl" ? " \u200f· " : " · "
  const described = row => COORDINATES.slice(0, -1).map(id => named(id, row)).join(dot)

  // Controls

  const options = (list, chosen) => list.map(([value, text]) => new Option(text, value, false, value === chosen))
  const field = (text, control) => element("label", {}, element("span", {}, text), control)
  const choice = (key, list) => element("select", { name: key, autocomplete: "off" }, options(list, ""))
  const values = column => Object.entries(names[column])
  const filters = each(column => choice(column, [["", says.any], ...values(column)]))
  const search = element("input", { type: "search", name: "q", placeholder: says.search_in, autocomplete: "off" })
  const group = choice("group", [["", says.none], ...texts.filters.map(column => [column, headings[column]])])
  const measure = choice("chart", shown.filter(id => id !== X).map(id => [id, headings[id]]))
  const compare = choice("compare", [["", says.none], ...texts.compared.filter(column => values(column).length > 1).map(column => [column, headings[column]])])
  const [first, second] = ["first", "second"].map(key => choice(key, []))
  const old = element("input", { type: "checkbox", name: "all", value: "1", autocomplete: "off" })
  const oldField = element("label", { className: "explorer-check", hidden: rows.every(row => row.newest) }, old, element("span", {}, says.superseded))
  const versus = [field(says.first, first), field(says.second, second)]
  const form = element(
    "form",
    { ariaLabel: says.filters },
    field(says.search, search),
    texts.filters.map(column => field(headings[column], filters[column])),
    field(says.group, group),
    field(says.measure, measure),
    field(says.compare, compare),
    versus,
    oldField,
  )
  const button = (text, onclick) => element("button", { type: "button", className: "md-button", onclick }, text)

  // State: the address has every setting that differs from its default

  let sort = null
  measure.value = shown.includes("speedup") ? "speedup" : measure.value
  const controls = { q: search, ...filters, group, chart: measure, compare, first, second }
  const defaults = Object.fromEntries(Object.entries(controls).map(([key, control]) => [key, control.value]))

  const offer = () => {
    versus.forEach(each => (each.hidden = !compare.value))
    if (first.dataset.of === compare.value) return
    for (const [at, control] of [first, second].entries()) {
      const list = compare.value ? values(compare.value) : []
      control.replaceChildren(...options(list))
      control.value = list[Math.min(at, list.length - 1)]?.[0] ?? ""
      control.dataset.of = compare.value
    }
  }
  const address = () => {
    const given = Object.entries(controls).filter(([key, { value }]) => value && value !== defaults[key])
    const state = new URLSearchParams(given.map(([key, { value }]) => [key, value]))
    if (sort) state.set("sort", `${sort.desc ? "-" : ""}${sort.id}`)
    if (old.checked) state.set("all", "1")
    return `#${state}`
  }
  const shared = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "")
  const read = (state = shared()) => {
    for (const [key, control] of Object.entries(controls)) {
      if (key === "first") offer()
      const value = state.get(key) ?? defaults[key]
      if (control.tagName !== "SELECT" || [...control.options].some(option => option.value === value)) control.value = value
      else if (!["first", "second"].includes(key)) control.value = defaults[key] // the address names an unknown value
    }
    const by = state.get("sort")
    sort = by ? { id: by.replace(/^-/, ""), desc: by.startsWith("-") } : null
    old.checked = state.has("all")
  }

  // Views: the records, or two values compared

  const details = makeDetails(texts, root.dataset.rounds)
  const sorted = by => {
    sort = by
    act()
  }
  const common = { grouping: ranks, named, texts, sorted }
  const measured = id => ({ id, heading: headings[id], number: true, show: row => figure(row[id], x => known[id].show(x, texts.figures.digits(row, id))) })
  const status = {
    ...coordinate("status"),
    show: row => element("span", { className: row.status === "pass" ? "" : "worse" }, named("status", row)),
    tells: row => row.status !== "pass",
  }
  const tones = { faster: "better", slower: "worse" }
  const verdict = { ...coordinate("verdict"), show: row => element("span", { className: tones[row.verdict] ?? "" }, named("verdict", row)) }
  const columnOf = id => ({ status, verdict })[id] ?? (id in known ? measured(id) : coordinate(id))
  const views = new Map()
  const recordView = () => ({
    table: makeTable({ ...common, columns: COLUMNS.map(columnOf), details }),
    names: records.names,
  })
  const tone = ratio => (ratio > noise ? "worse" : ratio * noise < 1 ? "better" : "")
  const change = id => ({ id, heading: says[id], number: true, show: row => element("span", { className: tone(1 + row[id]) }, figure(row[id], texts.figures.signed)) })
  const chosen = (kind, control) => `${says[kind]}: ${control.selectedOptions[0].text}`
  const pairView = column => {
    const latency = (kind, control, id = `${kind}_${control.name}`) => ({ id, heading: chosen(kind, control), number: true, show: row => figure(row[id], x => known[X].show(x, texts.figures.digits(row[control.name], `${kind}_ms`))) })
    const both = kind => [latency(kind, first), latency(kind, second)]
    const [name, ...others] = COORDINATES.filter(id => id !== column).map(coordinate)
    const columns = [name, change("compiled_change"), change("eager_change"), ...others, ...both("compiled"), ...both("eager")]
    const two = ({ first, second }) => [first, second].flatMap(row => [element("p", { className: "explorer-side" }, isolated(named(column, row))), ...details(row)])
    return {
      table: makeTable({ ...common, columns, details: two }),
      names: [...COORDINATES.filter(id => id !== column), ...PAIR_COLUMNS],
    }
  }
  const view = () => {
    const key = compare.value && [compare.value, first.value, second.value].join("\n")
    if (!views.has(key)) views.set(key, key ? pairView(compare.value) : recordView())
    return views.get(key)
  }

  // Search: every word must occur in the name of a row

  const naming = row => [...texts.filters.map(column => named(column, row)), row.checkpoint, row.device_name, row.run, row.reason, row.source_title]
  const text = row => (row.text ??= naming(row).filter(Boolean).join(" ").toLowerCase())

  // Together

  const chart = makeChart(texts)
  let waitingFrame
  let shownRows
  let answered
  const where = element("div")
  const tally = element("span", { className: "explorer-tally" })
  const link = element("a", {}, says.link)
  let current

  const axis = id => ({ id, label: headings[id], ...known[id], show: known[id].tick })
  // After the table is painted; only the last of several changes is drawn.
  const later = act => {
    cancelAnimationFrame(waitingFrame)
    waitingFrame = requestAnimationFrame(() => setTimeout(act))
  }
  const plot = () => {
    const colour = compare.value ? (compare.value === "device" ? "model" : "device") : group.value || "device"
    const by = { id: colour, text: row => named(colour, row) }
    if (!compare.value) return chart.draw({ rows: shownRows, x: axis(X), y: axis(measure.value), by, name: described })
    const side = control => ({ ...axis("compiled_ms"), id: `compiled_${control.name}`, label: chosen("compiled", control) })
    chart.draw({ rows: shownRows, x: side(first), y: side(second), by, name: described })
  }

  const update = () => {
    offer()
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const fits = row => (row.newest || old.checked) && (!words.length || words.every(word => text(row).includes(word)))
    const wanted = each(column => (column === compare.value ? "" : filters[column].value))
    const asked = JSON.stringify([wanted, words, old.checked, compare.value, first.value, second.value])
    if (asked !== answered) {
      answered = asked
      const { found, counts } = select(rows, texts.filters, wanted, fits)
      for (const column of texts.filters) {
        const left = new Set([...counts[column].keys()].map(String))
        filters[column].disabled = column === compare.value
        for (const option of filters[column].options) if (option.value) option.disabled = !left.has(option.value) && !option.selected
      }
      measure.disabled = Boolean(compare.value)
      shownRows = compare.value ? pairs(found, compare.value, first.value, second.value) : found
    }
    const next = view()
    if (current !== next) where.replaceChildren(...next.table.elements)
    current = next
    tally.replaceChildren(...say(says.rows, { count: isolated(texts.figures.count(shownRows.length)) }))
    current.table.draw(shownRows, { sort, group: group.value, title: compare.value ? says.pairs : says.caption })
    link.href = address()
  }
  const act = () => {
    update()
    const state = address()
    later(() => {
      if (!root.isConnected) return // the reader has left the page
      history.replaceState(history.state, "", state)
      plot()
    })
  }

  const save = (type, made) => {
    const file = new Blob([made(current.table.rows(), current.names)], { type })
    const anchor = element("a", { href: URL.createObjectURL(file), download: `compile-atlas.${type.split("/")[1]}` })
    anchor.click()
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000)
  }
  const reset = () => {
    read(new URLSearchParams())
    act()
  }

  let waiting
  form.addEventListener("input", ({ target }) => {
    clearTimeout(waiting)
    if (target === search) waiting = setTimeout(act, 120) // not after every letter
    else act()
  })
  form.onsubmit = () => false
  const follow = () => {
    if (!root.isConnected) return removeEventListener("hashchange", follow)
    if (!location.hash.includes("=")) return
    read()
    update()
    plot()
  }
  addEventListener("hashchange", follow)

  const tools = element(
    "p",
    { className: "explorer-tools" },
    button(says.reset, reset),
    button(says.download_csv, () => save("text/csv", asCsv)),
    button(says.download_json, () => save("application/json", asJson)),
    link,
  )
  const fold = element("details", { className: "explorer-fold", open: matchMedia(WIDE).matches }, element("summary", {}, says.filters, " ", tally), form, tools)
  root.replaceChildren(fold, chart.element, where)
  await new Promise(setTimeout) // lets a slow phone paint first
  read()
  update()
  plot()
  // Draws the points once they can be seen.
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return
    observer.disconnect()
    chart.load()
  }).observe(chart.element)
}
