// The records and values derived from them. Pure: takes columns, returns rows, counts, pairs and files.

// Makes rows from the columns that generator/pages/explorer.py packs. Unknown is null, never is Infinity.
// A row stores only its index and reads values from the columns, so ten thousand rows take no time to make.
export const unpack = columns => {
  const names = Object.keys(columns)
  const row = {}
  for (const name of names) Object.defineProperty(row, name, { get: lookUp(columns[name]) })
  Object.defineProperty(row, "doubtful", { get: isDoubtful })
  const count = columns.newest?.length ?? 0
  const rows = Array.from({ length: count }, (_, at) => Object.assign(Object.create(row), { at, id: String(at) }))
  return { rows, names: names.filter(name => !["why", "digits"].includes(name)) } // files are the same in every language
}

function isDoubtful() {
  return this.verdict === "doubtful"
}

const lookUp = column => {
  if (!Array.isArray(column)) {
    const { of, at } = column
    return function () {
      return of[at[this.at]]
    }
  }
  const list = column.includes("inf") ? column.map(value => (value === "inf" ? Infinity : value)) : column
  return function () {
    return list[this.at]
  }
}

// The rows with all `wanted` values that `fits` accepts, and the number that would remain for each value of each column.
export const select = (rows, columns, wanted, fits) => {
  const given = columns.filter(name => wanted[name])
  const counts = Object.fromEntries(columns.map(name => [name, new Map()]))
  const count = (name, row) => counts[name].set(row[name], (counts[name].get(row[name]) ?? 0) + 1)
  const found = rows.filter(row => {
    if (!fits(row)) return false
    let missed = null
    for (const name of given) {
      if (String(row[name]) === wanted[name]) continue
      if (missed) return false
      missed = name
    }
    if (missed) count(missed, row)
    else for (const name of columns) count(name, row)
    return !missed
  })
  return { found, counts }
}

// Columns that identify a cell, besides the compared one. The number of threads belongs to the device.
const CELL = ["device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "weights", "input_size", "layout", "origin"]

// A row for each cell that exists with both values of `column`, with both latencies and their relative change.
export const pairs = (rows, column, first, second) => {
  const key = row => CELL.map(name => (name === column ? "" : row[name])).join("\n")
  const wanted = rows.filter(row => row.newest && [first, second].includes(String(row[column])))
  const seconds = new Map(wanted.filter(row => String(row[column]) === second).map(row => [key(row), row]))
  return wanted
    .filter(row => String(row[column]) === first && seconds.has(key(row)))
    .map(row => {
      const other = seconds.get(key(row))
      return Object.assign(Object.create(row, { doubtful: { value: row.doubtful || other.doubtful } }), {
        id: `${row.id}-${other.id}`,
        first: row,
        second: other,
        eager_first: row.eager_ms,
        eager_second: other.eager_ms,
        eager_change: change(row.eager_ms, other.eager_ms),
        compiled_first: row.compiled_ms,
        compiled_second: other.compiled_ms,
        compiled_change: change(row.compiled_ms, other.compiled_ms),
      })
    })
}

const change = (from, to) => (from && to ? to / from - 1 : null)

export const PAIR_COLUMNS = ["eager_first", "eager_second", "eager_change", "compiled_first", "compiled_second", "compiled_change"]

const plain = value => (value === Infinity ? "inf" : (value ?? null))

// Prevents formulas in spreadsheets: see generator/pages/downloads.py.
const field = value => {
  const told = plain(value) ?? ""
  const text = typeof told === "string" && /^[=+\-@\t\r']/.test(told) ? `'${told}` : String(told)
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

// Columns of rows as CSV: unknown is empty, never is inf.
export const asCsv = (rows, names) => [names, ...rows.map(row => names.map(name => row[name]))].map(line => `${line.map(field).join(",")}\n`).join("")

// The same as JSON, one object per line: unknown is null.
export const asJson = (rows, names) =>
  `[\n${rows.map(row => JSON.stringify(Object.fromEntries(names.map(name => [name, plain(row[name])])))).join(",\n")}\n]\n`
