// The rounds of a cell as dots in order of time, fetched when a row is first opened.

import { element, isolated, say } from "../words.js"
import { number } from "../numbers.js"

const [WIDTH, HEIGHT, MARGIN] = [600, 70, 4]

// Shows the rounds of `row` once they have loaded, and nothing if the source has none.
export const strip = (row, texts, load, folder) => {
  const place = element("div")
  const draw = rounds => rounds[row.id] && place.append(...drawing(rounds[row.id], texts.says))
  if (row.compiled_samples) load(`${folder}${row.device}.json`).then(draw, () => {})
  return place
}

const drawing = (arms, says) => {
  const all = Object.values(arms).flat()
  const [low, high] = [Math.min(...all), Math.max(...all)]
  const x = (at, n) => ((document.body.dir === "rtl" ? n - at - 0.5 : at + 0.5) / n) * WIDTH
  const y = ms => HEIGHT - MARGIN - ((ms - low) / (high - low || 1)) * (HEIGHT - 2 * MARGIN)
  const dots = ([arm, list]) => list.map((ms, at) => `<circle class="${arm}" cx="${x(at, list.length)}" cy="${y(ms)}" r="2.5"/>`)
  const circles = Object.entries(arms).flatMap(dots).join("")
  const svg = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" class="explorer-strip" aria-hidden="true">${circles}</svg>`
  const [from, to] = [low, high].map(ms => isolated(`${number(ms, 3)} ms`))
  const key = ["eager", "compiled"].map(arm => element("span", { className: `explorer-arm ${arm}` }, says[arm]))
  return [element("div", { innerHTML: svg }), element("p", {}, say(says.strip, { low: from, high: to }), " ", key)]
}
