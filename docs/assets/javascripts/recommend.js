// Should this record be compiled for? Pure: a row of the decision data and a number of calls enter, an outcome leaves.
// decision.js shows it; the words for each outcome are in decision.py.

// Two latencies without an interval count as different from this ratio on: processes of one model differ by as much.
const NOISE = 1.05

// A gain or loss within this ratio is none, however narrow its interval. As in bench/statistics.
const SAME = 1.01

const OF_STATUS = { oom: "compiled-failed", eager_oom: "eager-failed", fail_accuracy: "wrong", throttled: "unknown", skipped: "unknown" }
const FAILED = ["crash", "timeout", "fail_to_run"]

// Seconds that `calls` calls take, the time to ready included; null where that is unknown.
export const total_s = (latency_ms, calls, ready_s = 0) => (latency_ms === null || ready_s === null ? null : ready_s + (calls * latency_ms) / 1e3)

// 1: compiled is faster, -1: slower, 0: no clear difference.
const direction = ([value, low, high]) => {
  const [from, to] = low === null || high === null ? [value / NOISE, value * NOISE] : [low, high]
  if (from >= 1 / SAME && to <= SAME) return 0
  return from > 1 ? 1 : to < 1 ? -1 : 0
}

// `row` as in the data, undefined where there is none; `cache` is cold or warm.
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

// The records for a choice, the best first: our own before published ones, then what has all calls done soonest.
export const ranked = (rows, calls, cache) => {
  const total = row => total_s(row.compiled_ms?.[0] ?? null, calls, row[cache].ready_s ?? 0) ?? Infinity
  return [...rows].sort((a, b) => a.origin.localeCompare(b.origin) || a.doubtful - b.doubtful || total(a) - total(b) || 0)
}
