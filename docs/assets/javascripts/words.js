// Figures and sentences in the language of the page, as elements and text.

import { formatted, number } from "./numbers.js"

export const element = (name, attributes, ...children) => {
  const made = Object.assign(document.createElement(name), name === "code" && { dir: "ltr" }, attributes)
  made.append(...children.flat())
  return made
}

// Isolates names and figures from right-to-left text.
export const isolated = text => (document.body.dir === "rtl" ? element("bdi", { dir: /[ء-ي]/.test(text) ? "rtl" : "ltr" }, text) : String(text))

// Fills the placeholders of a message, and returns a list of nodes to append.
export const say = (message, values) => message.split(/%\((\w+)\)s/).flatMap((part, at) => (at % 2 ? [values[part]].flat() : part ? [part] : []))

// Number formats of the explorer. Each takes a figure and its decimals, if these are known.
export const figures = texts => ({
  ms: (x, digits = 3) => number(x, digits),
  seconds: (x, digits = 1) => number(x, digits),
  gigabytes: x => number(x, 3),
  three: x => formatted(x, { maximumSignificantDigits: 3 }),
  count: (x, digits = 0) => (x === Infinity ? texts.says.never : number(x, Math.min(0, digits))),
  percent: x => formatted(x, { style: "percent" }),
  signed: x => number(x, 1, { style: "percent", signDisplay: "exceptZero" }),
  ratio: (x, digits = 2) => `${number(x, digits)}×`,
  // The decimals of a figure of a row, undefined for one that has none of its own.
  digits: (row, name) => (texts.rounded.includes(name) ? Number(row.digits.split(" ")[texts.rounded.indexOf(name)]) : undefined),
})
