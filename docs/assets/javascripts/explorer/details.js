// What an opened row shows, by the names in the template of explorer.html.jinja: its columns and what follows from them.

import { count } from "../numbers.js"
import { element, isolated, say } from "../words.js"
import { isKnown } from "./data.js"
import { figureTexts, isFigure } from "./figures.js"

// Returns a function of a row and a name.
export const makeDetails = texts => {
  const { says, names, links } = texts
  const figure = figureTexts(texts)

  const list = lines => lines.map(line => element("li", {}, element("code", { lang: "en" }, line)))
  const link = (row, name) => links[name][row[name]] && element("a", { href: links[name][row[name]] }, isolated(names[name][row[name]]))
  const plain = (row, name) => isKnown(row[name]) && isolated(String(row[name]))
  // A figure, with the bounds of its interval if it has one.
  const within = (row, name) => {
    const ends = [name, ...["low", "high"].map(end => name.replace(/(_ms)?$/, `_${end}$1`))]
    const [value, low, high] = ends.map(end => isKnown(row[end]) && isolated(figure(row, name, row[end])))
    return low && high && row[name] !== Infinity ? say(says.with_interval, { value, low, high }) : value
  }
  const reason = each => (each.reason ? [each.reason, each.location].filter(Boolean).join(" · ") : String(each))
  const reasons = text => JSON.parse(text ?? "[]").map(reason)

  const special = {
    model: link,
    device: link,
    explained: row => texts.explained[row.status],
    doubtful: row => row.doubtful,
    // As exact as it is known.
    date: row => {
      const text = row.measured_at ?? row.source_date
      const [, month, day] = text?.split("-") ?? []
      const parts = { year: "numeric", ...(month && { month: "long" }), ...(day && { day: "numeric" }), timeZone: "UTC" }
      return text && isolated(new Date(text).toLocaleDateString(`${document.documentElement.lang}-u-nu-latn`, parts))
    },
    verdict: row => names.verdict[row.verdict],
    why: row => texts.why[row.id],
    samples: ({ compiled_samples: calls, processes }) =>
      calls && processes && say(says.samples, { count: isolated(count(calls)), processes: isolated(count(processes)) }),
    hasGraph: row => isKnown(row.graphs),
    causes: row => list([...reasons(row.graph_break_reasons), ...reasons(row.cudagraph_skip_reasons)]),
    isMeasured: row => row.origin === "measured",
    settings: row => list(Object.entries(JSON.parse(row.settings ?? "{}")).map(([name, value]) => `${name}=${value}`)),
    source_title: row => row.source_title && element("a", { href: row.source_url }, row.source_title),
    source_facts: row => [row.source_licence, row.source_note].filter(Boolean).map(fact => `\u00a0· ${fact}`),
    command: row => row.command?.split(/(?<= )/).map(word => element("span", {}, word)), // lines break between words
  }
  return (row, name) => (special[name] ?? (isFigure(name) ? within : plain))(row, name)
}
