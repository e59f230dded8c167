// The records and values derived from them. Pure: takes columns, returns rows, counts and pairs.

export const isKnown = value => (value ?? "") !== ""

// Makes rows from the columns that generator/pages/explorer.py packs, and a function that gives them more. Unknown is null,
// never is Infinity. A row has only its index and reads values from the columns, so ten thousand take no time to make.
export const unpack = ({ count, columns }) => {
  class Row {
    constructor(at) {
      this.at = this.id = at
    }
    get doubtful() {
      return this.verdict === "doubtful"
    }
  }
  const add = columns => {
    for (const [name, column] of Object.entries(columns)) {
      const read = reader(column)
      const get = function () {
        const value = read(this.at)
        return value === "inf" ? Infinity : value
      }
      Object.defineProperty(Row.prototype, name, { get })
    }
  }
  add(columns)
  return { rows: Array.from({ length: count }, (_, at) => new Row(at)), add }
}

const reader = column => {
  const { rows, of, at } = column
  const known = rows && new Map(rows.map((row, n) => [row, of[n]]))
  if (rows) return row => known.get(row) ?? null
  if (of) return at ? row => of[at[row]] : () => of[0]
  return row => column[row]
}

// The rows with all `wanted` values that `fits` accepts, and for each column the values that would leave some. The answers
// to another `question` count as left: it is the one filter that gives way.
export const select = (rows, wanted, question, fits) => {
  const names = Object.keys(wanted)
  const left = Object.fromEntries(names.map(name => [name, new Set()]))
  const found = rows.filter(row => {
    if (!fits(row)) return false
    const isMissed = name => wanted[name] && wanted[name] !== String(row[name])
    const missed = names.filter(name => name !== question && isMissed(name))
    if (missed.length > 1) return false
    for (const name of missed.length ? missed : names) left[name].add(String(row[name]))
    return !missed.length && !isMissed(question)
  })
  return { found, left }
}

// The rows in the order of what `rank` returns. Unknown values come last in either direction.
export const sorted = (rows, rank, isDescending) => {
  const compare = ([x], [y]) => {
    if (x === null || y === null) return (x === null) - (y === null)
    return (isDescending ? -1 : 1) * (x < y ? -1 : x > y ? 1 : 0)
  }
  return rows.map(row => [rank(row) ?? null, row]).sort(compare).map(([, row]) => row)
}

// Columns that identify a cell, besides the compared one. Who wants as many images as possible chooses the batch for the
// device.
const CELL = ["device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "weights", "input_size", "layout", "threads", "origin"]

// A row for each cell that exists with both values of the compared column, with both figures of a `unit`, and how many
// times as fast the second is.
export const pairs = (rows, { compare, first, second }, unit) => {
  const names = CELL.filter(name => name !== compare && !(name === "batch_size" && unit === "images_s"))
  const key = row => names.map(name => row[name]).join("\n")
  const having = value => rows.filter(row => row.newest && String(row[compare]) === value)
  const others = new Map(having(second).map(row => [key(row), row]))
  return having(first).flatMap(row => (others.has(key(row)) ? [pair(row, others.get(key(row)), unit)] : []))
}

const pair = (first, second, unit) => {
  const figures = ["eager", "compiled"].flatMap(kind => {
    const [from, to] = [first, second].map(row => row[`${kind}_${unit}`])
    const speedup = from && to ? (unit === "ms" ? from / to : to / from) : null
    return [[`${kind}_first`, from], [`${kind}_second`, to], [`${kind}_speedup`, speedup]]
  })
  const both = Object.create(first, { doubtful: { value: first.doubtful || second.doubtful } })
  return Object.assign(both, { id: `${first.id}-${second.id}`, first, second }, Object.fromEntries(figures))
}
