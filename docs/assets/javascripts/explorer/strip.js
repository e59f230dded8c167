// The rounds of a cell as dots in order of time, fetched when a row is first opened.

import { element, isolated, say } from "../words.js"

const [WIDTH, HEIGHT, MARGIN] = [600, 70, 4]
const loaded = new Map()

const load = url => {
  if (!loaded.has(url)) loaded.set(url, fetch(url).then(response => (response.ok ? response.json() : {})).catch(() => ({})))
  return loaded.get(url)
}

const svg = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

// Shows the rounds of `row` once they have loaded, and nothing if the source has none.
export const strip = (row, texts, folder) => {
  const place = element("div")
  if (row.compiled_samples) load(`${folder}${row.device}.json`).then(rounds => rounds[row.id] && draw(place, rounds[row.id], texts))
  return place
}

const draw = (place, arms, { says, figures }) => {
  const all = Object.values(arms).flat()
  const [low, high] = [Math.min(...all), Math.max(...all)]
  const x = (at, n) => ((document.body.dir === "rtl" ? n - at - 0.5 : at + 0.5) / n) * WIDTH
  const y = ms => HEIGHT - MARGIN - ((ms - low) / (high - low || 1)) * (HEIGHT - 2 * MARGIN)
  const dots = Object.entries(arms).flatMap(([arm, list]) => list.map((ms, at) => svg("circle", { class: arm, cx: x(at, list.length), cy: y(ms), r: 2.5 })))
  const told = say(says.strip, { low: isolated(`${figures.ms(low)} ms`), high: isolated(`${figures.ms(high)} ms`) })
  const key = ["eager", "compiled"].map(arm => element("span", { className: `explorer-arm ${arm}` }, says[arm]))
  const caption = element("p", {}, ...told, " ", ...key)
  place.append(svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "explorer-strip", "aria-hidden": "true" }, ...dots), caption)
}
