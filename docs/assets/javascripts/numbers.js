// Numbers in the language of the page, with Latin digits as on all pages.

const formats = new Map()
const format = options => {
  const key = JSON.stringify(options)
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(`${document.documentElement.lang}-u-nu-latn`, options))
  return formats.get(key)
}

// A number with exactly `digits` decimals; below zero, −2 rounds to hundreds. generator/data/digits.py says how many.
export const number = (x, digits, options) => {
  const unit = 10 ** -Math.min(0, digits)
  const decimals = Math.max(0, digits)
  return formatted(unit > 1 ? Math.round(x / unit) * unit : x, { minimumFractionDigits: decimals, maximumFractionDigits: decimals, ...options })
}

// A real minus sign, and no direction marks: elements isolate.
export const formatted = (x, options) => format(options).format(x).replace("-", "−").replaceAll(/[\u061c\u200e\u200f]/g, "")

export const count = (x, digits = 0) => number(x, Math.min(0, digits))
export const ratio = (x, digits = 2) => `${number(x, digits)}×`
