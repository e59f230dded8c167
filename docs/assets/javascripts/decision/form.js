// The form of "Should I compile?": reads it and the address, and shows the answer. The records of a device are one file,
// which is loaded when the device is chosen. A short form has the address of the page with the `whole` answer, and the
// rows of its first case; it leaves the address of its own page alone.

import { modelChoice } from "../models.js"
import { element, say } from "../words.js"
import { makeAnswers } from "./answer.js"
import { nearest, ranked, unpacked } from "./recommend.js"

const MOST_MODELS = 50 // of a task that are shown together
const KEPT = "atlas.case" // device and model of each question, and the question that was asked last

export const start = root => {
  const texts = JSON.parse(root.dataset.texts)
  const { whole } = root.dataset
  const form = root.querySelector("form")
  const answer = root.querySelector(".decision-answer")
  const more = root.querySelector("[data-more]")
  const { question, device, size, batch, calls, cache } = form.elements
  const names = { ...texts.tasks } // of models and tasks, also of those that another device has
  const models = new Map() // of all devices that were chosen
  const model = modelChoice(form.elements.model, names)
  model.input.after(model.list)
  const controls = { question, device, model, size, batch, calls, cache }
  const devices = [...device.options]
  const answers = makeAnswers({ texts, snippets: JSON.parse(root.dataset.snippets), whole, names, models })
  const first = JSON.parse(root.dataset.first)
  names[first[0]] ??= first[1]
  model.value = first[0]
  const defaults = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value]))
  const isThroughput = () => question.value === "throughput"

  // State: in the address, and kept for the next visit. A browser may refuse to keep it, and nothing depends on it.

  let wantedSize
  const isAsked = ([, control]) => control.value && !control.closest?.("label")?.hidden
  const address = () => {
    const given = new URLSearchParams(Object.entries(controls).filter(isAsked).map(([name, { value }]) => [name, value]))
    if (!whole) window.atlas = given
    return `#${given}`
  }
  const remembered = () => __md_get(KEPT) ?? {}
  const remember = () => {
    const { value } = question
    __md_set(KEPT, { ...remembered(), question: value, [value]: { device: device.value, model: model.value } })
  }
  // The devices with records for the question, one of which is chosen.
  const offerDevices = chosen => {
    device.replaceChildren(...devices.filter(({ dataset }) => dataset.answers.split(" ").includes(question.value)))
    device.value = chosen
    if (!device.value) device.selectedIndex = 0
  }
  const read = () => {
    const kept = remembered()
    const before = new URLSearchParams({ ...kept[kept.question], ...(kept.question && { question: kept.question }) })
    // Links to sections load it again.
    const shared = location.hash.includes("=") ? new URLSearchParams(location.hash.slice(1)) : window.atlas
    const given = (!whole && shared) || before
    device.replaceChildren(...devices)
    for (const [name, control] of Object.entries(controls)) {
      const value = given.get(name)
      control.value = value && !(control.type === "number" && Number.isNaN(Number(value))) ? value : defaults[name]
      control.value ||= defaults[name]
    }
    wantedSize = given.get("size")
    // A link may name no question.
    if (!given.has("question")) [question.value] = device.selectedOptions[0].dataset.answers.split(" ")
    offerDevices(device.value)
  }

  // Records of the chosen device

  const files = new Map()
  const load = ({ value, dataset }) => {
    if (!files.has(value)) files.set(value, fetch(dataset.records).then(response => response.json()).then(unpacked))
    files.get(value).catch(() => files.delete(value)) // as on a 404 page: try again
    return files.get(value)
  }
  let records = { rows: [], models: new Map(), families: [] }
  const use = found => {
    records = found
    for (const [slug, told] of records.models) models.set(slug, told), (names[slug] = told.label)
    for (const family of records.families) names[`family:${family}`] = say(texts.estimate.unlisted, { family }).join("")
    if (!(model.value in names)) model.value = records.first[question.value]
    model.value = model.value // a slug becomes a name once that is known
    update()
  }
  const settle = async () => {
    const [option] = device.selectedOptions
    const found = await load(option).catch(() => null)
    if (option !== device.selectedOptions[0]) return // somebody chose another one meanwhile
    if (found) use(found)
    else answer.replaceChildren(element("p", {}, texts.failed))
  }

  // What is offered, and the answer

  // A choice of image size, where there is one to make. Records without a size belong to each.
  const ofSize = rows => {
    const area = text => text.split("×").reduce((product, side) => product * Number(side), 1)
    const sizes = [...new Set(rows.map(row => row.input_size))].filter(Boolean).sort((a, b) => area(a) - area(b))
    const count = each => records.rows.filter(row => row.input_size === each).length // the size that most models have
    const usual = sizes.toSorted((a, b) => count(b) - count(a))
    const chosen = sizes.length > 1 ? [wantedSize, size.value, ...usual].find(each => sizes.includes(each)) : ""
    if (!whole) {
      size.replaceChildren(...sizes.map(each => element("option", { value: each }, each)))
      size.parentElement.hidden = !chosen
    }
    size.value = chosen
    return chosen ? rows.filter(row => ["", chosen].includes(row.input_size)) : rows
  }
  // Models, families and, where they have few models, tasks.
  const offer = rows => {
    const tasks = Map.groupBy(rows, row => row.task)
    const known = new Set(rows.map(row => row.model))
    const isFew = task => task in names && new Set(tasks.get(task).map(row => row.model)).size <= MOST_MODELS
    const families = records.families.map(family => `family:${family}`)
    model.offer([...[...records.models.keys(), ...families].filter(slug => known.has(slug)), ...[...tasks.keys()].filter(isFew)])
  }
  const update = () => {
    // The short form answers from the rows of the matrix beside it.
    const offered = records.rows.filter(row => row.workload === question.value && (!whole || row.leads))
    offer(offered)
    batch.parentElement.hidden = isThroughput()
    const isOne = !(model.value in texts.tasks)
    const mine = offered.filter(row => [row.model, row.task].includes(model.value))
    const known = isOne ? ofSize(mine) : ofSize([]) && mine
    const sizes = [...new Set(known.map(row => row.batch_size))].filter(Boolean).sort((a, b) => a - b)
    batch.list.replaceChildren(...sizes.map(value => element("option", { value })))
    if (!whole) cache.parentElement.hidden = isThroughput() && !known.some(row => row.cold.ready_s ?? row.warm.ready_s)
    const invalid = !calls.validity.valid ? calls : !isThroughput() && !batch.validity.valid ? batch : undefined
    for (const each of [calls, batch]) each.ariaInvalid = each === invalid
    answer.classList.remove("estimated")
    if (invalid) {
      answer.replaceChildren(element("p", {}, invalid === calls ? texts.invalid_calls : texts.invalid_batch))
      return whole || more.replaceChildren()
    }
    const asked = {
      question: question.value,
      isThroughput: isThroughput(),
      model: model.value,
      device: device.selectedOptions[0].textContent,
      devices: Object.fromEntries(devices.map(({ value, textContent }) => [value, textContent])),
      calls: Number(calls.value),
      batch: Number(batch.value),
      cache: cache.value,
    }
    const at = nearest(known, asked.batch)
    const found = ranked(asked.isThroughput ? known : known.filter(row => row.batch_size === at), asked.calls, asked.cache)
    const recorded = found.filter(row => row.origin !== "estimated").map(row => ({ ...row, estimate: undefined }))
    const [best] = found
    answer.classList.toggle("estimated", Boolean(isOne && best?.estimate))
    answer.replaceChildren(...(!best ? answers.missing(asked) : isOne ? answers.single(best, asked) : answers.tally(recorded, asked)))
    if (whole) return (more.href = whole + address())
    const isProgram = best && isOne && !best.estimate && answers.outcome(best, asked) !== "eager-failed"
    const hasMore = recorded[Number(isOne && !best?.estimate)]
    more.replaceChildren(
      ...(isProgram ? answers.program(best, asked) : []),
      ...(hasMore ? [answers.table(recorded, asked, isOne ? undefined : pick)] : []),
      element("p", {}, element("a", { href: address() }, texts.link)),
    )
  }

  // What a reader does

  const choose = async () => {
    await settle()
    remember()
    if (form.checkValidity() && !whole) history.replaceState(history.state, "", address())
  }
  const pick = slug => {
    model.value = slug
    choose()
    model.input.focus()
  }
  const ask = () => {
    const { device: before, model: last } = remembered()[question.value] ?? {}
    device.replaceChildren(...devices)
    offerDevices(before ?? device.value)
    model.value = last ?? ""
    choose()
  }
  let waiting
  form.addEventListener("input", ({ target }) => {
    clearTimeout(waiting) // not after every digit
    if (target.name === "question") ask()
    else if (target !== model.input || model.value in names) waiting = setTimeout(choose, target.type === "number" ? 150 : 0)
  })
  // A model that nobody measured has a family if its name begins with that of one.
  const familyOf = name => {
    const [longest] = records.families.filter(each => name.startsWith(each)).sort((a, b) => b.length - a.length)
    return `family:${longest}`
  }
  model.input.addEventListener("change", () => {
    model.complete(familyOf)
    choose()
  })
  model.input.addEventListener("focus", () => model.input.select())
  form.onsubmit = () => false
  const follow = () => {
    if (!root.isConnected) return removeEventListener("hashchange", follow)
    read()
    settle()
  }
  addEventListener("hashchange", follow)
  form.hidden = false
  form.addEventListener("focusin", settle, { once: true }) // before the reader has chosen
  if (!whole) root.nextElementSibling.open = false
  read()
  const isFirst = ["question", "device", "model"].every(name => controls[name].value === defaults[name])
  if (whole && isFirst) use(unpacked(JSON.parse(root.dataset.rows)))
  else settle()
}
