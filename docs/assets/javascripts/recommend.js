// Whether compiling pays off. Pure: takes a row of the decision data and a number of calls, returns an outcome.
// decision.js shows it; generator/pages/decision.py has the words for each outcome.

// The least ratio of two latencies without intervals that counts: processes of one model differ by as much.
const NOISE = 1.05

// A gain or loss within this ratio does not count, as in bench/statistics/statistics.py.
const SAME = 1.01

const OF_STATUS = { oom: "compiled-failed", eager_oom: "eager-failed", fail_accuracy: "wrong", throttled: "unknown", skipped: "unknown" }
const FAILED = ["crash", "timeout", "fail_to_run"]

// Seconds for `calls` calls, including the time to ready; null if unknown.
export const total_s = (latency_ms, calls, ready_s = 0) => (latency_ms === null || ready_s === null ? null : ready_s + (calls * latency_ms) / 1e3)

// 1: compiled is faster, -1: slower, 0: no clear difference.
const direction = ([value, low, high]) => {
  const [from, to] = low === null || high === null ? [value / NOISE, value * NOISE] : [low, high]
  if (from >= 1 / SAME && to <= SAME) return 0
  return from > 1 ? 1 : to < 1 ? -1 : 0
}

// `row` is undefined if there is no record; `cache` is cold or warm.
export const recommend = (row, calls, cache) => {
  if (!row) return "not-measured"
  if (row.status in OF_STATUS) return OF_STATUS[row.status]
  if (FAILED.includes(row.status)) return row.eager_ms ? "compiled-failed" : "unknown"
  if (!row.speedup) return "unknown"
  if (row.doubtful) return "doubtful"
  const winner = direction(row.speedup)
  if (winner <= 0) return winner ? "slower" : "close"
  const { ready_s, calls: breakEven } = row[cache]
  if (ready_s === null || !breakEven) return "cost-unknown"
  const [value, low, high] = breakEven.map(end => (end === "inf" ? Infinity : end))
  if (calls >= (high ?? value)) return "compile"
  return calls < (low ?? value) ? "few-calls" : "close-calls"
}

// The records for a choice, the best first: measured before published ones, then by total time.
export const ranked = (rows, calls, cache) => {
  const total = row => total_s(row.compiled_ms?.[0] ?? null, calls, row[cache].ready_s ?? 0) ?? Infinity
  return [...rows].sort((a, b) => a.origin.localeCompare(b.origin) || a.doubtful - b.doubtful || total(a) - total(b) || 0)
}
