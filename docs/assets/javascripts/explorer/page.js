// The explorer: a form, a chart and a table of the records that the page names. Its state is in the address.

import { makeChart } from "./chart.js"
import { asCsv, asJson, PAIR_COLUMNS, pairs, select, unpack } from "./data.js"
import { makeDetails } from "./details.js"
import { modelChoice } from "../models.js"
import { makeTable } from "./table.js"
import { element, figures, isolated, say } from "../words.js"

// Figures with their formats, and for the chart the logarithmic scales and the values that mean no change.
const measures = ({ ms, seconds, gigabytes, three, count, percent, ratio }) => ({
  eager_ms: { show: ms, tick: three, log: true },
  compiled_ms: { show: ms, tick: three, log: true },
  speedup: { show: ratio, tick: ratio, log: true, same: 1 },
  eager_images_s: { show: three, tick: three, log: true },
  compiled_images_s: { show: three, tick: three, log: true },
  compile_cold_s: { show: seconds, tick: three, log: true },
  break_even_calls: { show: count, tick: count, log: true },
  compiled_peak_memory_gb: { show: gigabytes, tick: three, log: true },
  compiled_matmul_share: { show: percent, tick: percent },
})
const COORDINATES = ["model", "device", "batch_size", "compile_mode", "torch", "dtype", "origin"]
// The unit of the figures that answer a question.
const UNITS = { latency: "ms", throughput: "images_s" }
const QUESTION = "workload"
// The conclusion follows the name: a phone shows both. Sources come last.
const COLUMNS = [
  ...["model", "speedup", "verdict", "device", "batch_size", "compile_mode", "break_even_calls", "torch", "eager_ms", "compiled_ms"],
  ...["eager_images_s", "compiled_images_s", "compile_cold_s", "compiled_peak_memory_gb", "compiled_matmul_share", "dtype", "origin", "status"],
]
const WIDE = "(min-width: 45em)" // as in explorer.css

// `data` is what the table needs of the records, undefined if it failed to load; `loadDetails` loads the other columns.
export const start = async (root, data, loadDetails) => {
  const texts = JSON.parse(root.dataset.texts)
  texts.figures = figures(texts)
  const { says, names, headings, noise } = texts
  if (!data) return root.replaceChildren(element("p", {}, says.failed))
  const { columns, models } = data
  const { rows, add } = unpack(data)
  const ofModels = make => Object.fromEntries(Object.entries(models).map(([slug, told]) => [slug, make(told)]))
  names.model = ofModels(([label]) => label)
  texts.links.model = ofModels(([, address]) => address && root.dataset.root + address)
  let details
  const more = () =>
    (details ??= loadDetails().then(
      ({ columns, names }) => (add(columns), names),
      error => {
        details = undefined // try again
        throw error
      },
    ))
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
  // Today's PyTorch comes first, and what the lint doubts last.
  rows.sort((one, other) => one.doubtful - other.doubtful || ranks.torch(other) - ranks.torch(one))
  const named = (column, row) => name(column, row[column])
  const coordinate = id => ({ id, heading: headings[id], number: id === "batch_size", show: row => isolated(named(id, row)), rank: ranks[id] })
  const dot = document.body.dir === "rtl" ? " \u200f· " : " · "
  const described = row => COORDINATES.slice(0, -1).map(id => named(id, row)).join(dot)

  // Controls

  const options = (list, chosen) => list.map(([value, text]) => new Option(text, value, false, value === chosen))
  const field = (text, control) => element("label", {}, element("span", {}, text), control)
  const choice = (key, list) => element("select", { name: key, autocomplete: "off" }, options(list, ""))
  const values = column => Object.entries(names[column])
  const model = modelChoice(element("input", { name: "model", placeholder: says.any, autocomplete: "off", dir: "auto", spellcheck: false }), names.model)
  const filters = each(column => (column === "model" ? model : choice(column, [...(column === QUESTION ? [] : [["", says.any]]), ...values(column)])))
  const question = filters[QUESTION]
  question.value = texts.question
  const unit = () => UNITS[question.value]
  const search = element("input", { type: "search", name: "q", placeholder: says.search_in, autocomplete: "off" })
  const group = choice("group", [["", says.none], ...texts.filters.filter(column => column !== QUESTION).map(column => [column, headings[column]])])
  const measure = choice("chart", shown.filter(id => !id.startsWith("eager")).map(id => [id, headings[id]]))
  const compare = choice("compare", [["", says.none], ...texts.compared.filter(column => values(column).length > 1).map(column => [column, headings[column]])])
  const [first, second] = ["first", "second"].map(key => choice(key, []))
  const old = element("input", { type: "checkbox", name: "all", value: "1", autocomplete: "off" })
  const oldField = element("label", { className: "explorer-check", hidden: rows.every(row => row.newest) }, old, element("span", {}, says.superseded))
  const versus = [field(says.first, first), field(says.second, second)]
  const form = element(
    "form",
    { ariaLabel: says.filters },
    field(says.search, search),
    texts.filters.map(column => field(headings[column], column === "model" ? [model.input, model.list] : filters[column])),
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
    const there = new Set(rows.filter(row => row[QUESTION] === question.value).map(row => String(row[compare.value])))
    for (const [at, control] of [first, second].entries()) {
      const list = compare.value ? values(compare.value) : []
      const best = list.filter(([value]) => there.has(value))
      control.replaceChildren(...options(list))
      control.value = best[Math.min(at, best.length - 1)]?.[0] ?? ""
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

  const opened = makeDetails(texts, more, root.dataset.rounds)
  const sorted = by => {
    sort = by
    act()
  }
  const common = { grouping: ranks, named, texts, sorted }
  // A latency answers one question, images per second the other.
  const telling = id => {
    const [of] = Object.entries(UNITS).find(([, unit]) => id === `eager_${unit}` || id === `compiled_${unit}`) ?? []
    return row => (row[id] ?? null) !== null && (!of || row[QUESTION] === of)
  }
  const measured = id => ({ id, heading: headings[id], number: true, show: row => figure(row[id], x => known[id].show(x, texts.figures.digits(row, id))), tells: telling(id) })
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
    table: makeTable({ ...common, columns: COLUMNS.map(columnOf), details: opened }),
    names: more,
  })
  const tone = (ratio, slower = unit() === "ms" ? ratio : 1 / ratio) => (slower > noise ? "worse" : slower * noise < 1 ? "better" : "")
  const change = id => ({ id, heading: says[id], number: true, show: row => element("span", { className: tone(1 + row[id]) }, figure(row[id], texts.figures.signed)) })
  const chosen = (kind, control) => `${headings[`${kind}_${unit()}`]}: ${control.selectedOptions[0].text}`
  const pairView = column => {
    const latency = (kind, control, id = `${kind}_${control.name}`) => ({ id, heading: chosen(kind, control), number: true, show: row => figure(row[id], x => known[`${kind}_${unit()}`].show(x, texts.figures.digits(row[control.name], `${kind}_${unit()}`))) })
    const both = kind => [latency(kind, first), latency(kind, second)]
    const ids = COORDINATES.filter(id => id !== column && !(id === "batch_size" && unit() === "images_s"))
    const [name, ...others] = ids.map(coordinate)
    const columns = [name, change("compiled_change"), change("eager_change"), ...others, ...both("compiled"), ...both("eager")]
    const side = async row => [element("p", { className: "explorer-side" }, isolated(named(column, row))), ...(await opened(row))]
    const two = async ({ first, second }) => [...(await side(first)), ...(await side(second))]
    return {
      table: makeTable({ ...common, columns, details: two }),
      names: async () => [...ids, ...PAIR_COLUMNS],
    }
  }
  const view = () => {
    const key = compare.value && [compare.value, first.value, second.value, question.value].join("\n")
    if (!views.has(key)) views.set(key, key ? pairView(compare.value) : recordView())
    return views.get(key)
  }

  // Search: every word must occur in the name of a row

  const naming = row => [...texts.filters.map(column => named(column, row)), models[row.model][2], ...texts.searched.map(column => row[column])]
  const text = row => (row.text ??= naming(row).filter(Boolean).join(" ").toLowerCase())

  // Together

  const chart = makeChart(texts)
  let waitingFrame
  let shownRows
  let drawn = []
  let answered
  const where = element("div")
  const tally = element("span", { className: "explorer-tally" })
  const link = element("a", {}, says.link)
  let current

  const axis = (id, same = known[id].same) => ({ id, label: headings[id], ...known[id], same, show: known[id].tick })
  // After the table is painted; only the last of several changes is drawn.
  const later = act => {
    cancelAnimationFrame(waitingFrame)
    waitingFrame = requestAnimationFrame(() => setTimeout(act))
  }
  const plot = () => {
    const colour = compare.value ? (compare.value === "device" ? "model" : "device") : group.value || "device"
    const asked = [shownRows, colour, measure.value]
    if (asked.every((each, at) => each === drawn[at])) return // another order has the same points
    drawn = asked
    const by = { id: colour, text: row => named(colour, row) }
    const [x, y] = ["eager", "compiled"].map(variant => `${variant}_${unit()}`)
    const againstX = id => axis(id, id === y ? "x" : undefined)
    if (!compare.value) return chart.draw({ rows: shownRows, x: axis(x), y: againstX(measure.value), by, name: described })
    const side = control => ({ ...againstX(y), id: `compiled_${control.name}`, label: chosen("compiled", control) })
    chart.draw({ rows: shownRows, x: side(first), y: side(second), by, name: described })
  }

  const update = () => {
    offer()
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const part = model.value in names.model ? "" : model.value.toLowerCase()
    const fits = row =>
      (row.newest || old.checked) &&
      (!compare.value || [first.value, second.value].includes(String(row[compare.value]))) &&
      (!part || names.model[row.model].toLowerCase().includes(part)) &&
      (!words.length || words.every(word => text(row).includes(word)))
    const wanted = each(column => (column === compare.value ? "" : filters[column].value))
    const asked = JSON.stringify([wanted, part, words, old.checked, compare.value, first.value, second.value])
    if (asked !== answered) {
      const { found, left } = select(rows, columns, QUESTION, wanted, fits)
      if (!found.length && left[QUESTION].size) {
        ;[question.value] = left[QUESTION]
        return update()
      }
      answered = asked
      for (const column of texts.filters) {
        filters[column].disabled = column === compare.value
        filters[column].offer?.(left[column])
        for (const option of filters[column].options ?? []) if (option.value) option.disabled = !left[column].has(option.value) && !option.selected
      }
      measure.disabled = Boolean(compare.value)
      shownRows = compare.value ? pairs(found, compare.value, first.value, second.value, unit()) : found
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

  const save = async (type, made) => {
    const file = new Blob([made(current.table.rows(), await current.names())], { type })
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
    if ([search, model.input].includes(target)) waiting = setTimeout(act, 120) // not after every letter
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
