// The form of "Which model to run": reads it and the address, and shows the best models. One file has those of all devices.

import { fill } from "../forms.js"
import { formatted, number, ratio } from "../numbers.js"
import { element, filled, isolated, say } from "../words.js"
import { best, unpacked } from "./best.js"

export const start = async root => {
  const texts = JSON.parse(root.dataset.texts)
  const [form, answer] = ["form", "[data-told]"].map(each => root.querySelector(each))
  const [tableTemplate, rowTemplate] = root.querySelectorAll("template")
  const { device, goal, accuracy, speed, variant } = form.elements
  const plain = (x, options) => isolated(formatted(x, { maximumFractionDigits: 2, ...options }))

  const shownRow = row => {
    const [name, ...tag] = row.weights.split(".")
    const below = element("small", {}, element("code", {}, tag.join(".")), " ", isolated(row.size))
    const model = [element("a", { href: `../${row.place}` }, isolated(name)), element("br"), below]
    const speedup = row.speedup ? isolated(ratio(row.speedup)) : "–"
    const rate = row[variant.value]
    const told = { model, top1: isolated(number(row.top1, 2, { style: "percent" })), rate: isolated(number(rate, rate < 100 ? 1 : 0)), speedup }
    return filled(rowTemplate, part => told[part])
  }
  const caption = (isAccuracy, least) => {
    const needed = isAccuracy ? plain(least, { style: "percent" }) : say(texts.images_s, { value: plain(least) })
    const facts = [device, variant].flatMap(({ selectedOptions: [option] }) => ["\u00a0· ", isolated(option.text)])
    return [...say(texts[goal.value], { least: needed }), ...facts]
  }
  const update = rows => {
    const isAccuracy = goal.value === "accuracy"
    for (const field of [accuracy, speed]) field.parentElement.hidden = field.disabled = field.name !== goal.value
    if (!form.checkValidity()) return answer.replaceChildren(element("p", {}, texts.invalid))
    const least = isAccuracy ? accuracy.value / 100 : Number(speed.value)
    const found = best(rows[device.value], { goal: goal.value, least, variant: variant.value, most: texts.best })
    const told = { caption: caption(isAccuracy, least), rate: texts.rate[variant.value], rows: found.map(shownRow) }
    answer.replaceChildren(found.length ? filled(tableTemplate, part => told[part]) : element("p", {}, texts.none))
  }

  fill(form, new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""))
  form.onsubmit = () => false
  form.hidden = false
  const rows = unpacked(await (await fetch(root.dataset.records)).json())
  form.oninput = () => {
    update(rows)
    if (form.checkValidity()) history.replaceState(history.state, "", `#${new URLSearchParams(new FormData(form))}`)
  }
  update(rows)
}
