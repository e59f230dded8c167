// The explorer: a form, a chart and a table of the records that the page names. Its state is in the address.

import { loader } from "../files.js"
import { fill, modelChoice } from "../forms.js"
import { count } from "../numbers.js"
import { filled, isolated, say } from "../words.js"
import { makeChart } from "./chart.js"
import { unpack } from "./data.js"
import { makeDetails } from "./details.js"
import { makeTable } from "./table.js"
import { makeView, QUESTION } from "./view.js"

const WIDE = "(min-width: 45em)" // as in explorer.css

export const start = async root => {
  const texts = JSON.parse(root.dataset.texts)
  const { says, names, filters } = texts
  const load = loader()
  const data = await load(root.dataset.explorer)
  const { rows, add } = unpack(data)
  const ofModels = part => Object.fromEntries(Object.entries(data.models).map(([slug, told]) => [slug, part(told)]))
  names.model = ofModels(([name]) => name)
  texts.links.model = ofModels(([, address]) => address && root.dataset.root + address)
  const view = makeView(texts, rows, ofModels(([, , checkpoint]) => checkpoint))
  const more = () => load(root.dataset.details, add)

  const [all, detail] = root.querySelectorAll("template")
  root.replaceChildren(all.content)
  const [fold, tally, form, link] = ["details", ".explorer-tally", "form", ".explorer-tools a"].map(each => root.querySelector(each))
  const { [QUESTION]: question, chart: measure, compare, first, second, sort } = form.elements
  const model = modelChoice(form.elements.model, names.model)
  const defaults = new FormData(form)
  fold.open = matchMedia(WIDE).matches

  // State: the address has every setting that differs from its default

  const isChosen = ([name, value]) => value && value !== defaults.get(name)
  const address = () => `#${new URLSearchParams([...new FormData(form)].filter(isChosen))}`
  const state = () => Object.fromEntries(new FormData(form))
  const read = () => {
    const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "")
    compare.value = given.get("compare") ?? ""
    offerSides()
    fill(form, given)
    model.value = model.value // a slug becomes a name
    update()
  }
  // What can be chosen before the rows are known. What is compared is no filter, and the chart shows nothing else.
  const offerSides = () => {
    for (const column of filters) {
      form.elements[column].disabled = column === compare.value
      for (const option of form.elements[column].options ?? []) option.disabled = false
    }
    measure.disabled = Boolean(compare.value)
    const best = view.comparable(compare.value, question.value)
    for (const control of [first, second]) {
      control.parentElement.hidden = !compare.value
      if (control.dataset.of === compare.value) continue
      control.dataset.of = compare.value
      const isBest = ([value]) => value === best[control.name] // also after a reset
      control.replaceChildren(...best.values.map(each => new Option(each[1], each[0], isBest(each), isBest(each))))
    }
  }
  // A choice that would leave no row cannot be made.
  const offer = left => {
    model.offer(left.model)
    for (const column of filters)
      for (const option of form.elements[column].options ?? [])
        option.disabled = option.value && !left[column].has(option.value) && !option.selected
  }

  // What is shown

  const content = makeDetails(texts)
  const details = async row => {
    await more()
    return row.second ? [row.first, row.second].map(each => panel(each, isolated(view.named(each, compare.value)))) : [panel(row)]
  }
  const panel = (row, side) => filled(detail, name => (name === "side" ? side : content(row, name)))
  const resort = by => {
    sort.value = by
    act()
  }
  const drawTable = makeTable(root, texts, view, details, resort)
  const drawChart = makeChart(root.querySelector("figure"), texts, view)
  let waiting
  const update = () => {
    offerSides()
    const { rows, left } = view.rows(state())
    if (!rows.length && left[QUESTION].size && !left[QUESTION].has(question.value)) {
      ;[question.value] = left[QUESTION]
      return update()
    }
    offer(left)
    drawTable(state(), rows)
    tally.replaceChildren(...say(says.rows, { count: isolated(count(rows.length)) }))
    drawChart(state(), rows)
    link.href = address()
  }
  const act = () => {
    if (!root.isConnected) return // the reader has left the page
    update()
    history.replaceState(history.state, "", address())
  }

  // What a reader does

  form.addEventListener("input", ({ target }) => {
    clearTimeout(waiting)
    waiting = setTimeout(act, target.matches("[name=q], [name=model]") ? 120 : 0) // not after every letter
  })
  root.querySelector("[type=reset]").onclick = () => setTimeout(act) // once it is done
  form.onsubmit = () => false
  const follow = () => {
    if (!root.isConnected) removeEventListener("hashchange", follow)
    else if (location.hash.includes("=")) read()
  }
  addEventListener("hashchange", follow)
  read()
}
