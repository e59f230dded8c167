// The rounds of a cell as dots in order of time.

import { isolated, say } from "../words.js"
import { number } from "../numbers.js"

const [WIDTH, HEIGHT, MARGIN] = [600, 70, 4]

// Fills the `place` of an opened row with the rounds of each variant.
export const drawStrip = (place, arms, says) => {
  const all = Object.values(arms).flat()
  const [low, high] = [Math.min(...all), Math.max(...all)]
  const x = (at, n) => ((document.body.dir === "rtl" ? n - at - 0.5 : at + 0.5) / n) * WIDTH
  const y = ms => HEIGHT - MARGIN - ((ms - low) / (high - low || 1)) * (HEIGHT - 2 * MARGIN)
  const dots = ([arm, list]) => list.map((ms, at) => `<circle class="${arm}" cx="${x(at, list.length)}" cy="${y(ms)}" r="2.5"/>`)
  place.querySelector("svg").innerHTML = Object.entries(arms).flatMap(dots).join("")
  const [from, to] = [low, high].map(ms => isolated(`${number(ms, 3)} ms`))
  place.querySelector("span").append(...say(says.strip, { low: from, high: to }))
  place.hidden = false
}
