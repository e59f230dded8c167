// The content of an opened row: figures with intervals, graphs, environment, source and the command to reproduce it.

import { element, isolated, say } from "../words.js"
import { isKnown } from "./data.js"
import { count, figureTexts, isFigure } from "./figures.js"
import { strip } from "./strip.js"

const CELL = [
  ...["model", "device", "checkpoint", "digest", "batch_size", "input_size", "layout", "dtype"],
  ...["date", "run", "verdict", "why", "reason"],
]
const FIGURES = [
  ...["eager_ms", "compiled_ms", "speedup", "eager_images_s", "compiled_images_s", "samples"],
  ...["compile_cold_s", "dynamo_s", "aot_autograd_s", "inductor_s", "break_even_calls", "compile_warm_s", "break_even_warm_calls"],
  ...["eager_peak_memory_gb", "compiled_peak_memory_gb", "compiled_matmul_share", "eager_host_bound", "compiled_host_bound"],
]
const GRAPH = ["graphs", "graph_breaks", "recompiles", "cudagraph_skips", "cudagraph_replays"]
const ENVIRONMENT = [
  ...["torch", "transformers", "python", "platform", "accelerator", "driver", "grad_mode"],
  ...["cores", "threads", "memory_gb", "commit", "settings"],
]

// `load` brings a file, such as the rounds of a device from `folder`.
export const makeDetails = (texts, load, folder) => {
  const { says, details: label, names, links } = texts
  const figure = figureTexts(texts)

  const code = (text, lang = "") => text && element("code", { lang }, text)
  const list = lines => (lines.length ? element("ul", {}, lines.map(line => element("li", {}, code(line, "en")))) : "")
  const link = (row, name) => links[name][row[name]] && element("a", { href: links[name][row[name]] }, isolated(names[name][row[name]]))
  // A date as exact as it is known.
  const date = text => {
    const [, month, day] = text?.split("-") ?? []
    const parts = { year: "numeric", ...(month && { month: "long" }), ...(day && { day: "numeric" }), timeZone: "UTC" }
    return text && isolated(new Date(text).toLocaleDateString(`${document.documentElement.lang}-u-nu-latn`, parts))
  }
  const samples = ({ compiled_samples: calls, processes }) =>
    calls && processes && say(says.samples, { count: isolated(count(calls)), processes: isolated(count(processes)) })
  // A figure, with the bounds of its interval if it has one.
  const within = (row, name) => {
    const ends = [name, ...["low", "high"].map(end => name.replace(/(_ms)?$/, `_${end}$1`))]
    const [value, low, high] = ends.map(end => isKnown(row[end]) && isolated(figure(row, name, row[end])))
    return low && high && row[name] !== Infinity ? say(says.with_interval, { value, low, high }) : value
  }
  const special = {
    model: link,
    device: link,
    checkpoint: row => code(row.checkpoint),
    digest: row => code(row.digest),
    date: row => date(row.measured_at ?? row.source_date),
    run: row => code(row.run),
    verdict: row => names.verdict[row.verdict],
    why: row => texts.why[row.id],
    reason: row => code(row.reason, "en"),
    commit: row => code(row.commit),
    settings: row => list(Object.entries(JSON.parse(row.settings ?? "{}")).map(([name, value]) => `${name}=${value}`)),
    samples,
  }
  const plain = (row, name) => isKnown(row[name]) && isolated(String(row[name]))
  const content = (row, name) => (special[name] ?? (isFigure(name) ? within : plain))(row, name)
  const entries = (row, columns) => {
    const known = columns.map(name => [label[name] ?? texts.headings[name], content(row, name)]).filter(([, told]) => told)
    return element("dl", {}, known.map(([name, told]) => element("div", {}, element("dt", {}, name), element("dd", {}, told))))
  }
  const section = (title, ...parts) => [element("p", { className: "explorer-title" }, label[title]), ...parts]

  const reason = each => (each.reason ? [each.reason, each.location].filter(Boolean).join(" · ") : String(each))
  const reasons = text => JSON.parse(text ?? "[]").map(reason)
  const graph = row => [entries(row, GRAPH), list([...reasons(row.graph_break_reasons), ...reasons(row.cudagraph_skip_reasons)])]
  const source = row => {
    const title = element("a", { href: row.source_url }, row.source_title)
    const note = texts.notes[row.source_note]
    const facts = [row.source_licence, !note && row.source_note].filter(Boolean).map(fact => `\u00a0· ${fact}`)
    return [element("p", { className: "explorer-source", lang: "en", dir: "ltr" }, title, ...facts), element("p", {}, note ?? "")]
  }
  // Measures the cell of a published row with the protocol of its source.
  const own = row =>
    `python -m bench run --profile paper-2023 --checkpoint ${row.checkpoint} --task ${row.task} --batch-size ${row.batch_size} ` +
    `--variant ${row.compile_mode} --dtype ${row.dtype.replace(" ", "-")}`
  const command = row => {
    // Lines break only between these.
    const words = (row.command ?? own(row)).split(/(?<= )/).map(word => element("span", {}, word))
    return [row.command ? "" : element("p", {}, says.no_command), element("pre", { tabIndex: 0 }, code(words))]
  }

  const notes = row => [texts.explained[row.status], row.doubtful && says.doubtful].filter(Boolean)

  return row => [
    ...notes(row).map(note => element("p", { className: "explorer-note" }, note)),
    entries(row, CELL),
    ...section("figures", entries(row, FIGURES), strip(row, texts, load, folder)),
    ...(isKnown(row.graphs) ? section("graph", ...graph(row)) : []),
    ...(row.origin === "measured" ? section("environment", entries(row, ENVIRONMENT)) : []),
    ...(row.source_title ? section("source", ...source(row)) : []),
    ...(row.command || row.workload === "latency" ? section("command", ...command(row)) : []),
  ]
}
