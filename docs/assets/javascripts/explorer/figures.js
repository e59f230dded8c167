// The figures of rows as text.

import { count, formatted, number, ratio } from "../numbers.js"

const ms = (x, digits = 3) => number(x, digits)
const seconds = (x, digits = 1) => number(x, digits)
const gigabytes = x => number(x, 3)
const three = x => formatted(x, { maximumSignificantDigits: 3 })
const percent = x => formatted(x, { style: "percent" })

const FORMATS = {
  ...{ batch_size: count, cores: count, threads: count, memory_gb: three },
  ...{ eager_ms: ms, compiled_ms: ms, speedup: ratio, eager_images_s: three, compiled_images_s: three },
  ...{ compile_cold_s: seconds, dynamo_s: seconds, aot_autograd_s: seconds, inductor_s: seconds, compile_warm_s: seconds },
  ...{ break_even_calls: count, break_even_warm_calls: count },
  ...{ eager_peak_memory_gb: gigabytes, compiled_peak_memory_gb: gigabytes },
  ...{ compiled_matmul_share: percent, eager_host_bound: percent, compiled_host_bound: percent },
  ...{ graphs: count, graph_breaks: count, recompiles: count, cudagraph_skips: count, cudagraph_replays: count },
}
export const isFigure = name => name in FORMATS
export const isShare = name => FORMATS[name] === percent

// Short, for the axis of a chart.
export const tick = name => ([ratio, count, percent].includes(FORMATS[name]) ? FORMATS[name] : three)

// Returns a function for the text of a figure of a row, null if it is unknown. With a third argument, the text of another
// value, such as an end of its interval, with as many decimals as the figure.
export const figureTexts = ({ says, rounded }) => (row, name, value = row[name]) => {
  if ((value ?? null) === null) return null
  if (value === Infinity) return says.never
  const at = rounded.indexOf(name)
  return FORMATS[name](value, at < 0 ? undefined : Number(row.digits.split(" ")[at]))
}
