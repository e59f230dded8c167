// Figures and sentences in the language of the page, as elements and text. generator/pages/explorer.py writes `texts`.

export const element = (name, attributes, ...children) => {
  const made = Object.assign(document.createElement(name), attributes)
  made.append(...children.flat())
  return made
}

// Isolates names and figures from right-to-left text.
export const isolated = text => (document.body.dir === "rtl" ? element("bdi", { dir: /[ء-ي]/.test(text) ? "rtl" : "ltr" }, text) : String(text))

// Fills the placeholders of a message, and returns a list of nodes to append.
export const say = (message, values) => message.split(/%\((\w+)\)s/).flatMap((part, at) => (at % 2 ? [values[part]].flat() : part ? [part] : []))

// Number formats, with Latin digits as on the other pages.
export const figures = texts => {
  const format = options => {
    const made = new Intl.NumberFormat(`${document.documentElement.lang}-u-nu-latn`, options)
    return x => made.format(x).replace("-", "−").replaceAll(/[\u061c\u200e\u200f]/g, "") // elements isolate, not marks
  }
  const digits = n => ({ minimumFractionDigits: n, maximumFractionDigits: n })
  const [whole, two, three] = [format(digits(0)), format(digits(2)), format({ maximumSignificantDigits: 3 })]
  return {
    ms: format(digits(3)),
    seconds: format(digits(1)),
    gigabytes: format(digits(3)),
    three,
    count: x => (x === Infinity ? texts.says.never : whole(x)),
    percent: format({ style: "percent" }),
    signed: format({ style: "percent", ...digits(1), signDisplay: "exceptZero" }),
    ratio: x => `${two(x)}×`,
  }
}
