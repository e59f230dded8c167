// The content of an opened row: figures with intervals, graphs, environment, source and the command to reproduce it.

import { strip } from "./strip.js"
import { element, isolated, say } from "../words.js"

// `load` brings the columns that only opened rows show, and `folder` holds the rounds of each device.
export const makeDetails = (texts, load, folder) => {
  const { says, details: label, figures, names, links } = texts
  const isKnown = value => (value ?? "") !== ""

  const entries = pairs => {
    const known = pairs.filter(([, content]) => isKnown(content))
    return element("dl", {}, known.map(([name, content]) => element("div", {}, element("dt", {}, label[name] ?? texts.headings[name]), element("dd", {}, content))))
  }
  const section = (title, ...content) => [element("p", { className: "explorer-title" }, label[title]), ...content]

  // A figure, with the bounds of its interval if it has one.
  const within = (row, name, show, low = `${name}_low`, high = `${name}_high`) => {
    if (!isKnown(row[name])) return null
    const shown = end => isolated(show(end, figures.digits(row, name)))
    const value = shown(row[name])
    if (!isKnown(row[low]) || !isKnown(row[high]) || row[name] === Infinity) return value
    return say(says.with_interval, { value, low: shown(row[low]), high: shown(row[high]) })
  }
  const told = (row, show, ...columns) => columns.map(name => [name, within(row, name, show)])
  const shown = (row, name) => (isKnown(row[name]) ? isolated(String(row[name])) : null)
  const link = (row, kind) => (links[kind][row[kind]] ? element("a", { href: links[kind][row[kind]] }, isolated(names[kind][row[kind]])) : null)

  const reasons = text => JSON.parse(text ?? "[]").map(each => (each.reason ? [each.reason, each.location].filter(Boolean).join(" · ") : String(each)))
  const verbatim = lines => (lines.length ? element("ul", {}, lines.map(line => element("li", {}, element("code", { lang: "en" }, line)))) : "")
  const settings = text => {
    const known = Object.entries(JSON.parse(text ?? "{}"))
    return known.length ? verbatim(known.map(([name, value]) => `${name}=${value}`)) : null
  }
  // A date as exact as it is known.
  const date = row => {
    const text = row.measured_at ?? row.source_date
    const [, month, day] = text?.split("-") ?? []
    const parts = { year: "numeric", ...(month && { month: "long" }), ...(day && { day: "numeric" }), timeZone: "UTC" }
    return text && isolated(new Date(text).toLocaleDateString(`${document.documentElement.lang}-u-nu-latn`, parts))
  }
  const samples = row =>
    row.compiled_samples && row.processes ? say(says.samples, { count: isolated(figures.count(row.compiled_samples)), processes: isolated(figures.count(row.processes)) }) : null

  // Measures the cell of a published row with the protocol of its source.
  const own = row =>
    `python -m bench run --profile paper-2023 --checkpoint ${row.checkpoint} --task ${row.task} --batch-size ${row.batch_size} --variant ${row.compile_mode} --dtype ${row.dtype.replace(" ", "-")}`
  const command = row => {
    const words = (row.command ?? own(row)).split(/(?<= )/).map(word => element("span", {}, word)) // line breaks only between these
    const code = element("pre", { tabIndex: 0 }, element("code", {}, words))
    return row.command ? [code] : [element("p", {}, says.no_command), code]
  }
  const source = row => {
    if (!row.source_title) return []
    const title = element("a", { href: row.source_url }, row.source_title)
    const note = texts.notes[row.source_note]
    const facts = [row.source_licence, !note && row.source_note].filter(Boolean).map(fact => `\u00a0· ${fact}`)
    return section("source", element("p", { className: "explorer-source", lang: "en", dir: "ltr" }, title, ...facts), element("p", {}, note ?? ""))
  }

  const content = row => {
    const { ms, seconds, gigabytes, three, ratio, percent, count: calls } = figures
    const notes = [texts.explained[row.status], row.doubtful && says.doubtful].filter(Boolean)
    return [
      ...notes.map(note => element("p", { className: "explorer-note" }, note)),
      entries([
        ["model", link(row, "model")],
        ["device", link(row, "device")],
        ["checkpoint", row.checkpoint && element("code", {}, row.checkpoint)],
        ["digest", row.digest && element("code", {}, row.digest)],
        ...told(row, calls, "batch_size"),
        ["input_size", shown(row, "input_size")],
        ["layout", shown(row, "layout")],
        ["dtype", shown(row, "dtype")],
        ["date", date(row)],
        ["run", element("code", {}, row.run)],
        ["verdict", row.verdict && names.verdict[row.verdict]],
        ["why", texts.why[row.id]],
        ["reason", row.reason && element("code", { lang: "en" }, row.reason)],
      ]),
      ...section(
        "figures",
        entries([
          ["eager_ms", within(row, "eager_ms", ms, "eager_low_ms", "eager_high_ms")],
          ["compiled_ms", within(row, "compiled_ms", ms, "compiled_low_ms", "compiled_high_ms")],
          ...told(row, ratio, "speedup"),
          ...told(row, three, "eager_images_s", "compiled_images_s"),
          ["samples", samples(row)],
          ...told(row, seconds, "compile_cold_s", "dynamo_s", "aot_autograd_s", "inductor_s"),
          ...told(row, calls, "break_even_calls"),
          ...told(row, seconds, "compile_warm_s"),
          ...told(row, calls, "break_even_warm_calls"),
          ...told(row, gigabytes, "eager_peak_memory_gb", "compiled_peak_memory_gb"),
          ...told(row, percent, "compiled_matmul_share", "eager_host_bound", "compiled_host_bound"),
        ]),
        strip(row, texts, folder),
      ),
      ...(isKnown(row.graphs)
        ? section(
            "graph",
            entries(
              told(row, calls, "graphs", "graph_breaks", "recompiles", "cudagraph_skips", "cudagraph_replays"),
            ),
            verbatim([...reasons(row.graph_break_reasons), ...reasons(row.cudagraph_skip_reasons)]),
          )
        : []),
      ...(row.origin === "measured"
        ? section(
            "environment",
            entries([
              ...["torch", "transformers", "python", "platform", "accelerator", "driver", "grad_mode"].map(name => [name, shown(row, name)]),
              ...told(row, calls, "cores", "threads"),
              ...told(row, three, "memory_gb"),
              ["commit", row.commit && element("code", {}, row.commit)],
              ["settings", settings(row.settings)],
            ]),
          )
        : []),
      ...source(row),
      ...(row.command || row.workload === "latency" ? section("command", ...command(row)) : []),
    ]
  }

  return async row => {
    await load()
    return content(row)
  }
}
