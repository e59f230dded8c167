// Estimates of the speedup: evaluates the trees of bench/estimates/trees.py on the features of bench/estimates/features.py,
// and shows an estimate so that nobody takes it for a record.

import { element, say } from "./explorer/words.js"
import { formatted, number } from "./numbers.js"
import { reaching } from "./recommend.js"

// ── The model ───────────────────────────────────────────────────────────────────────────────────────────────────────

const log = x => (x > 0 ? Math.log(x) : NaN)

// Whether a description has operations that were counted.
export const isCounted = ({ operations = {} }, { arithmetic }) => arithmetic.some(kind => operations[kind]?.[2] > 0)

// The features by name. A description has FLOP, activations and parameters of one image; `operations`, if they were
// counted, by kind the count, the bytes and the FLOP; and `eager_ms`, if it was measured. Unknown is NaN.
export const features = (description, device, model) => {
  const { flop, activations, parameters, operations, eager_ms } = description
  const { kinds, arithmetic } = model
  const of = kind => operations[kind] ?? [0, 0, 0]
  const sum = (names, at) => names.reduce((total, kind) => total + of(kind)[at], 0)
  const known = { intensity: log(flop) - log(activations), flop: log(flop), activations: log(activations), parameters: log(parameters) }
  const ms = log(eager_ms)
  const timed = { eager_ms: ms, flop_per_ms: log(flop) - ms }
  const counted = {}
  if (isCounted(description, model)) {
    const fusible = kinds.filter(kind => !arithmetic.includes(kind))
    const [work, bytes] = [sum(arithmetic, 2), sum(kinds, 1)]
    counted.flop_per_byte = Math.log(work / bytes)
    counted.fusible_per_flop = Math.log((sum(fusible, 1) + 1) / work)
    counted.fusible_share = sum(fusible, 1) / bytes
    counted.operations = Math.log(sum(kinds, 0))
    counted.fusible_operations = Math.log(sum(fusible, 0) + 1)
    for (const kind of kinds) counted[`${kind}_share`] = of(kind)[1] / bytes
    for (const kind of arithmetic) counted[`${kind}_flop_share`] = of(kind)[2] / work
    timed.bytes_per_ms = Math.log(bytes) - ms
  }
  return { ...known, ...counted, ...timed, [`device: ${device}`]: 1 }
}

const BRANCH = /^(\d+)([LR])(.+)$/

// The natural logarithm of the speedup.
export const evaluated = ({ features: names, base, nodes }, known) => {
  const values = names.map(name => known[name] ?? (name.startsWith("device: ") ? 0 : NaN))
  const words = nodes.split(" ")
  let at = 0
  // Reads the subtree at `at`, and returns its leaf for these values.
  const read = () => {
    const word = words[at++]
    const branch = BRANCH.exec(word)
    if (!branch) return Number(word)
    const value = values[branch[1]]
    const isLeft = Number.isNaN(value) ? branch[2] === "L" : value <= Number(branch[3])
    const [left, right] = [read(), read()]
    return isLeft ? left : right
  }
  let total = base
  while (at < words.length) total += read()
  return total
}

// ── The answer ──────────────────────────────────────────────────────────────────────────────────────────────────────

const isolated = text => element("bdi", { dir: /[ء-ي]/.test(text) ? "rtl" : "ltr" }, text)

const TICKS = [0.5, 1, 2, 4]
const [FIRST, LAST] = [TICKS[0], TICKS.at(-1)] // of the scale
const ratio = x => `${number(x, 2)}×`

// Both intervals on a scale: a light bar, a dark one, and a rhombus, where records have dots.
const scale = ([value, near, wide], texts) => {
  const at = x => 100 * (Math.log(Math.min(Math.max(x, FIRST), LAST) / FIRST) / Math.log(LAST / FIRST))
  const bar = (className, [low, high]) => element("span", { className, style: `inset-inline-start: ${at(low)}%; inline-size: ${at(high) - at(low)}%` })
  const point = (className, x) => element("span", { className, style: `inset-inline-start: ${at(x)}%` })
  const label = say(texts.scale, { first: ratio(FIRST), last: ratio(LAST) }).join("")
  const ticks = TICKS.map(x => {
    const tick = point("tick", x)
    tick.append(isolated(`${formatted(x)}×`))
    return tick
  })
  return element("div", { className: "estimate-scale", role: "img", ariaLabel: label }, ticks, point("even", 1), bar("wide", wide), bar("near", near), point("value", value))
}

const link = ([href, names, speedup], texts) => {
  const shown = Object.fromEntries(Object.entries(names).map(([name, text]) => [name, isolated(text)]))
  return element("a", { href }, say(texts.relative, { ...shown, speedup: isolated(ratio(speedup)) }))
}

// The parts of an answer. `of` has the values of its reason besides the figures. A relative is an address, its names and
// its speedup; `command` is what measures the model.
export const estimate = ({ speedup, reach, evidence, error, tried }, reason, of, texts, relatives, command) => {
  const [near, wide] = reach.map(each => reaching(speedup, each))
  const show = x => isolated(ratio(x))
  const values = { ...of, speedup: show(speedup), low: show(wide[0]), high: show(wide[1]), near_low: show(near[0]), near_high: show(near[1]) }
  const off = { error: isolated(number(error, 1, { style: "percent" })), tried: isolated(number(tried, 0)) }
  const note = (...parts) => element("p", { className: "decision-note" }, ...parts)
  return [
    element("p", { className: "estimate-mark" }, texts.mark),
    element("p", {}, say(reason, values)),
    scale([speedup, near, wide], texts),
    note(say(texts.error, off), " ", texts.evidence[evidence]),
    ...(relatives.length ? [element("ul", {}, relatives.map(each => element("li", {}, link(each, texts))))] : []),
    ...(command ? [note(texts.measure), command] : []),
  ]
}
