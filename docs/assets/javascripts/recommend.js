// Whether compiling pays off. Pure: takes a row of the decision data and a number of calls, returns an outcome.
// decision.js shows it; generator/pages/decision.py has the words for each outcome.

const OF_STATUS = { oom: "compiled-failed", eager_oom: "eager-failed", fail_accuracy: "wrong", throttled: "unknown", skipped: "unknown" }
const OF_VERDICT = { slower: "slower", same: "close", ambiguous: "close", doubtful: "doubtful", unknown: "unknown" }
const FAILED = ["crash", "timeout", "fail_to_run"]

// Seconds for `calls` calls, including the time to ready; null if unknown.
export const total_s = (latency_ms, calls, ready_s = 0) => (latency_ms === null || ready_s === null ? null : ready_s + (calls * latency_ms) / 1e3)

// `row` is undefined if there is no record; `cache` is cold or warm.
export const recommend = (row, calls, cache) => {
  if (!row) return "not-measured"
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

// The records for a choice, the best first: measured before published ones, then by total time.
export const ranked = (rows, calls, cache) => {
  const total = row => total_s(row.compiled_ms?.[0] ?? null, calls, row[cache].ready_s?.[0] ?? 0) ?? Infinity
  const doubt = row => Number(row.verdict === "doubtful")
  return [...rows].sort((a, b) => a.origin.localeCompare(b.origin) || doubt(a) - doubt(b) || total(a) - total(b) || 0)
}
