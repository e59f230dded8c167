// What the explorer shows for a state of its form: rows, columns and axes. Pure: touches neither page nor address.

import { isKnown, pairs, select, sorted } from "./data.js"
import { ratio } from "../numbers.js"
import { figureTexts, isShare, tick } from "./figures.js"

export const QUESTION = "workload"
const UNITS = { latency: "ms", throughput: "images_s" } // of the figures that answer a question
const COORDINATES = ["model", "device", "batch_size", "compile_mode", "torch", "dtype", "layout", "origin"]
// The conclusion follows the name: a phone shows both. Sources come last.
const COLUMNS = [
  ...["model", "speedup", "verdict", "device", "batch_size", "compile_mode", "break_even_calls", "torch", "layout"],
  ...["eager_ms", "compiled_ms", "eager_images_s", "compiled_images_s", "compile_cold_s", "compiled_peak_memory_gb"],
  ...["compiled_matmul_share", "dtype", "origin", "status"],
]
const TONES = { faster: "better", slower: "worse" }

// `texts` are the words, with the names of models, and `checkpoints` the names of their weights. A state has the value of
// each field of the form by its name, "" or none if nothing is chosen.
export const makeView = (texts, rows, checkpoints) => {
  const { says, names, headings, noise } = texts
  const figure = figureTexts(texts)
  const named = (row, column) => names[column]?.[row[column]] ?? String(row[column])

  // Values of a filter rank as it offers them.
  const places = texts.filters.map(column => [column, Object.fromEntries(Object.keys(names[column]).map((value, at) => [value, at]))])
  const ranks = Object.fromEntries(places)
  const rank = (row, column) => ranks[column][row[column]] ?? null
  // Today's PyTorch comes first, and what the data lint doubts last.
  const all = rows.toSorted((a, b) => a.doubtful - b.doubtful || rank(b, "torch") - rank(a, "torch"))

  const unit = state => UNITS[state[QUESTION]]
  // What a pair has in common.
  const coordinates = state => COORDINATES.filter(id => id !== state.compare && !(id === "batch_size" && unit(state) === "images_s"))

  // Rows

  // Every word of the search has to occur in one of the names of a row.
  const namesOf = row => texts.filters.map(column => named(row, column))
  const told = row => [...namesOf(row), checkpoints[row.model], ...texts.searched.map(column => row[column])]
  const searched = row => (row.text ??= told(row).filter(Boolean).join(" ").toLowerCase())
  const isListed = state => (state.model ?? "") in names.model
  const fits = state => {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean)
    const part = isListed(state) ? "" : state.model.toLowerCase()
    return row =>
      (row.newest || state.all) &&
      (!state.compare || [state.first, state.second].includes(String(row[state.compare]))) &&
      names.model[row.model].toLowerCase().includes(part) &&
      words.every(word => searched(row).includes(word))
  }

  // Columns

  const kinds = {
    verdict: { tone: row => TONES[row.verdict] },
    status: { tone: row => row.status !== "pass" && "worse", isWorthIt: row => row.status !== "pass" },
    layout: { isWorthIt: row => row.layout !== "contiguous" },
  }
  const coordinate = id => {
    const told = { text: row => named(row, id), rank: row => rank(row, id) }
    return { id, heading: headings[id], number: id === "batch_size", ...told, ...kinds[id] }
  }
  const measured = id => ({ id, heading: headings[id], number: true, text: row => figure(row, id) })
  const speedup = id => {
    const tone = row => (row[id] > noise ? "better" : row[id] * noise < 1 && "worse")
    return { id, heading: says[id], number: true, text: row => (isKnown(row[id]) ? ratio(row[id]) : null), tone }
  }
  const chosen = (kind, side, state) => `${headings[`${kind}_${unit(state)}`]}: ${names[state.compare][state[side]]}`
  const sides = (kind, state) =>
    ["first", "second"].map(side => {
      const id = `${kind}_${side}`
      return { id, heading: chosen(kind, side, state), number: true, text: row => figure(row[side], `${kind}_${unit(state)}`) }
    })

  const ofPairs = state => {
    const [name, ...others] = coordinates(state).map(coordinate)
    const speedups = ["compiled_speedup", "eager_speedup"].map(speedup)
    return [name, ...speedups, ...others, ...sides("compiled", state), ...sides("eager", state)]
  }

  // Axes of the chart

  // On a line that says `same` nothing changes: the same on both axes, or a speedup of one.
  const axis = (id, changes) => {
    const same = id === "speedup" ? 1 : undefined
    return { id, label: headings[id], show: tick(id), isLog: !isShare(id), same, ...changes }
  }

  return {
    named,
    // The rows of a state, pairs if it compares two values, and for each filter the values that would leave some.
    rows: state => {
      const wanted = Object.fromEntries(texts.filters.map(column => [column, column === state.compare ? "" : state[column]]))
      if (!isListed(state)) wanted.model = ""
      const { found, left } = select(all, wanted, QUESTION, fits(state))
      return { rows: state.compare ? pairs(found, state, unit(state)) : found, left }
    },
    ordered: (rows, columns, { sort }) => {
      const [, isDescending, id] = /^(-?)(.*)$/.exec(sort)
      const column = columns.find(each => each.id === id)
      return column ? sorted(rows, column.rank ?? (row => row[id]), isDescending) : rows
    },
    // Columns in which nothing is worth showing are left out.
    columns: (state, rows) => {
      const otherUnit = unit(state) === "ms" ? "_images_s" : "_ms"
      const columns = state.compare
        ? ofPairs(state)
        : COLUMNS.filter(id => !id.endsWith(otherUnit)).map(id => (id in names ? coordinate(id) : measured(id)))
      return columns.filter(({ id, isWorthIt = row => isKnown(row[id]) }, at) => !at || !rows.length || rows.some(isWorthIt))
    },
    axes: state => {
      const [x, y] = ["eager", "compiled"].map(kind => `${kind}_${unit(state)}`)
      if (!state.compare) return { x: axis(x), y: axis(state.chart, state.chart === y && { same: "x" }) }
      const [first, second] = sides("compiled", state).map(({ id, heading }) => axis(y, { id, label: heading, same: "x" }))
      return { x: first, y: second }
    },
    colouredBy: ({ compare, device }) => (compare === "device" || device ? "model" : "device"),
    described: row => COORDINATES.slice(0, -1).map(id => named(row, id)),
    // The values of a column that can be compared, and two of them that rows of the question have.
    comparable: (column, question) => {
      const there = new Set(all.filter(row => row[QUESTION] === question).map(row => String(row[column])))
      const values = Object.entries(names[column] ?? {})
      const best = values.map(([value]) => value).filter(value => there.has(value))
      return { values, first: best[0], second: best[1] ?? best[0] }
    },
  }
}
