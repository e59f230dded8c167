// The records and values derived from them. Pure: takes columns, returns rows, counts, pairs and files.

// Makes rows from the columns that generator/pages/explorer.py packs. Unknown is null, never is Infinity.
// A row stores only its index and reads values from the columns, so ten thousand rows take no time to make.
export const unpack = ({ count, columns }) => {
  const row = Object.defineProperty({}, "doubtful", { get: isDoubtful })
  const rows = Array.from({ length: count }, (_, at) => Object.assign(Object.create(row), { at, id: String(at) }))
  const add = columns => {
    for (const [name, column] of Object.entries(columns)) Object.defineProperty(row, name, { get: lookUp(column) })
  }
  add(columns)
  return { rows, add } // `add` gives all rows more columns
}

function isDoubtful() {
  return this.verdict === "doubtful"
}

const lookUp = column => {
  const { rows, of, at } = column
  if (rows) {
    const values = new Map(rows.map((row, n) => [row, plainly(of[n])]))
    return function () {
      return values.get(this.at) ?? null
    }
  }
  if (of)
    return at
      ? function () {
          return of[at[this.at]]
        }
      : () => of[0]
  const list = column.includes("inf") ? column.map(plainly) : column
  return function () {
    return list[this.at]
  }
}
const plainly = value => (value === "inf" ? Infinity : value)

// The rows with all `wanted` values that `fits` accepts, and for each column the values that would leave some. The answers
// to another `question` count as left: it is the one filter that gives way.
export const select = (rows, columns, question, wanted, fits) => {
  const names = Object.keys(wanted)
  const codes = names.map(name => columns[name].at ?? rows.map(() => 0))
  const given = names.map(name => columns[name].of.findIndex(value => String(value) === wanted[name])) // −1: any
  const left = names.map(name => new Uint8Array(columns[name].of.length))
  const asked = names.indexOf(question)
  const found = rows.filter(row => {
    if (!fits(row)) return false
    let missed = -1
    for (let n = 0; n < names.length; n++) {
      if (given[n] < 0 || n === asked || codes[n][row.at] === given[n]) continue
      if (missed >= 0) return false
      missed = n
    }
    if (missed >= 0) left[missed][codes[missed][row.at]] = 1
    else for (let n = 0; n < names.length; n++) left[n][codes[n][row.at]] = 1
    return missed < 0 && codes[asked][row.at] === given[asked]
  })
  const values = n => new Set(columns[names[n]].of.filter((_, code) => left[n][code]).map(String))
  return { found, left: Object.fromEntries(names.map((name, n) => [name, values(n)])) }
}

// Columns that identify a cell, besides the compared one. The number of threads belongs to the device. Who wants as many
// images as possible chooses the batch for the device.
const CELL = ["device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "weights", "input_size", "layout", "origin"]

// A row for each cell that exists with both values of `column`, with both figures of a `unit` and their relative change.
export const pairs = (rows, column, first, second, unit) => {
  const names = CELL.filter(name => name !== column && !(name === "batch_size" && unit === "images_s"))
  const key = row => names.map(name => row[name]).join("\n")
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
        eager_first: row[`eager_${unit}`],
        eager_second: other[`eager_${unit}`],
        eager_change: change(row[`eager_${unit}`], other[`eager_${unit}`]),
        compiled_first: row[`compiled_${unit}`],
        compiled_second: other[`compiled_${unit}`],
        compiled_change: change(row[`compiled_${unit}`], other[`compiled_${unit}`]),
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
