// Whether compiling pays off. Pure: takes a row of the decision data and a number of calls, returns an outcome.
// answer.js shows it; generator/pages/decision.py has the words for each outcome, and packs the rows.

const OF_STATUS = { oom: "compiled-failed", eager_oom: "eager-failed", fail_accuracy: "wrong", throttled: "unknown", skipped: "unknown" }
const OF_VERDICT = { slower: "slower", same: "close", inconclusive: "close", doubtful: "doubtful", unknown: "unknown" }
const FAILED = ["crash", "timeout", "fail_to_run"]

// The rows of a file, and its models by slug. A figure is a list of its value, the ends of its interval and its decimals.
export const unpacked = ({ count, models, first, columns, figures, estimates, same }) => {
  const cell = (column, at) => (column.of ? column.of[column.at[at]] : column[column.length > 1 ? at : 0])
  const figure = (parts, at) => (cell(parts[0], at) === null ? null : parts.map(part => cell(part, at)))
  const each = (from, read, at) => Object.fromEntries(Object.entries(from).map(([name, column]) => [name, read(column, at)]))
  const row = at => {
    const { compile_cold_s, break_even_calls, compile_warm_s, break_even_warm_calls, ...others } = each(figures, figure, at)
    const costs = { cold: { ready_s: compile_cold_s, calls: break_even_calls }, warm: { ready_s: compile_warm_s, calls: break_even_warm_calls } }
    const plain = each(columns, cell, at)
    return { ...plain, ...others, ...costs, model: models[plain.model][0] }
  }
  const described = models.map(([slug, label, checkpoint, auto_class, task]) => [slug, { label, checkpoint, auto_class, task }])
  const rows = Array.from({ length: count }, (_, at) => row(at))
  const guess = (way, speedup, family, relatives) => ({ ...estimates.ways[way], way, speedup, family, relatives, same })
  for (const [at, input_size, speedup, way, family, relatives] of estimates.models) {
    const [model] = described[at]
    const estimate = guess(way, speedup, family, relatives)
    // It stands with the newest row of its model and image size, if there is one.
    const beside = rows.find(row => row.workload === "throughput" && row.age === 0 && row.model === model && row.input_size === input_size && !row.speedup && row.eager_images_s)
    if (beside) beside.estimate = estimate
    else rows.push({ ...UNMEASURED, model, input_size, estimate })
  }
  for (const [family, speedup] of estimates.families) rows.push({ ...UNMEASURED, model: `family:${family}`, estimate: guess("family", speedup, family, []) })
  return { rows, models: new Map(described), first, families: estimates.families.map(([family]) => family) }
}

// The row of an estimate that stands alone.
const NO_COST = { ready_s: null, calls: null }
const UNMEASURED = { origin: "estimated", workload: "throughput", leads: false, status: "pass", verdict: "unknown", age: 0, batch_size: 0, input_size: "", speedup: null, cold: NO_COST, warm: NO_COST }

// The ends of an interval around a speedup, whose reach is in natural logarithms.
export const reaching = (speedup, reach) => [speedup / Math.exp(reach), speedup * Math.exp(reach)]

// What an estimate says: faster or slower where nine of ten cases are, beyond what counts as the same.
const judged = ({ speedup, reach, same }) => {
  const [low, high] = reaching(speedup, reach[1])
  return low > 1 + same ? "estimated-faster" : high < 1 / (1 + same) ? "estimated-slower" : "estimated-open"
}

// Seconds for `calls` calls, including the time to ready; null if unknown.
export const total_s = (latency_ms, calls, ready_s = 0) => (latency_ms === null || ready_s === null ? null : ready_s + (calls * latency_ms) / 1e3)

// `row` is undefined if there is no record; `cache` is cold or warm.
export const recommend = (row, calls, cache) => {
  if (!row) return "not-measured"
  if (row.estimate) return judged(row.estimate)
  if (row.status in OF_STATUS) return OF_STATUS[row.status]
  if (FAILED.includes(row.status)) return row.eager_ms ? "compiled-failed" : "unknown"
  if (row.verdict in OF_VERDICT) return OF_VERDICT[row.verdict]
  if (row.speedup[1] === null) return "likely" // nothing says how certain it is
  const { ready_s, calls: breakEven } = row[cache]
  if (!ready_s || !breakEven) return "cost-unknown"
  const [value, low, high] = breakEven.map(end => (end === "inf" ? Infinity : end))
  if (calls >= (high ?? value)) return "compile"
  return calls < (low ?? value) ? "few-calls" : "close-calls"
}

// The records for a choice, the best first: measured before published ones, answers before doubts and failures, the
// newest PyTorch before older ones, then by total time.
export const ranked = (rows, calls, cache) => {
  const total = row => total_s(row.compiled_ms?.[0] ?? null, calls, row[cache].ready_s?.[0] ?? 0) ?? Infinity
  const doubt = row => Number(row.verdict === "doubtful") + 2 * Number(row.verdict === "unknown")
  const guess = row => Number(row.origin === "estimated")
  return [...rows].sort((a, b) => guess(a) - guess(b) || a.origin.localeCompare(b.origin) || doubt(a) - doubt(b) || a.age - b.age || total(a) - total(b) || 0)
}

// The measured batch size whose ratio to the wanted one is smallest: that itself where it was measured.
export const nearest = (rows, wanted) => {
  const distance = size => Math.abs(Math.log(size / wanted))
  const sizes = rows.map(row => row.batch_size).sort((a, b) => distance(a) - distance(b) || a - b)
  return sizes[0]
}

// The image sizes of rows, the smallest first, and the one of them that most of `all` rows have.
export const imageSizes = (rows, all) => {
  const area = text => text.split("×").reduce((product, side) => product * Number(side), 1)
  const sizes = [...new Set(rows.map(row => row.input_size))].filter(Boolean).sort((a, b) => area(a) - area(b))
  const count = each => all.filter(row => row.input_size === each).length
  return { sizes, usual: sizes.toSorted((a, b) => count(b) - count(a))[0] }
}

// The models and families that rows have.
export const suggested = (rows, { models, families }) => {
  const known = new Set(rows.map(row => row.model))
  return [...models.keys(), ...families.map(family => `family:${family}`)].filter(slug => known.has(slug))
}
