// The best models for an accuracy or a throughput. Pure: takes the models of a device, returns the first few.

// The models of each device. generator/pages/frontier.py packs them.
export const unpacked = ({ models, devices }) => {
  const row = ([at, eager, compiled, speedup]) => {
    const [weights, size, top1, place] = models[at]
    return { weights, size, top1, place, eager, compiled, speedup }
  }
  return Object.fromEntries(Object.entries(devices).map(([slug, rows]) => [slug, rows.map(row)]))
}

// With an accuracy as the goal, the fastest that reach it; with a throughput, the most accurate that reach that.
export const best = (rows, { goal, least, variant, most }) => {
  const [needed, wanted] = goal === "accuracy" ? ["top1", variant] : [variant, "top1"]
  const reaching = rows.filter(row => row[needed] >= least)
  return reaching.sort((a, b) => b[wanted] - a[wanted] || b[needed] - a[needed]).slice(0, most)
}
