// The form of "Should I compile?": reads it and the address, and shows the answer. The records of a device are one file,
// which is loaded when the device is chosen. A short form has the address of the page with the `whole` answer, and the
// rows of its first case; it leaves the address of its own page alone.

import { loader } from "../files.js"
import { fill, modelChoice } from "../forms.js"
import { element, filled, say } from "../words.js"
import { makeAnswers } from "./answer.js"
import { imageSizes, nearest, ranked, suggested, unpacked } from "./recommend.js"

export const start = root => {
  const texts = JSON.parse(root.dataset.texts)
  const { whole, families, toExplorer } = root.dataset
  const [form, answer, more] = ["form", ".decision-answer", "[data-more]"].map(each => root.querySelector(each))
  const [answerTemplate, moreTemplate] = root.querySelectorAll("template")
  const { question, device, size, batch, calls, cache } = form.elements
  const devices = [...device.options]
  const [slug, label] = JSON.parse(root.dataset.first)
  const names = { [slug]: label } // of models, also of those that another device has
  const models = new Map() // of all devices that were chosen
  const model = modelChoice(form.elements.model, names)
  const devicesByName = Object.fromEntries(devices.map(({ value, text }) => [value, text]))
  const answers = makeAnswers({ texts, snippets: JSON.parse(root.dataset.snippets), whole, families, names, models, devices: devicesByName })
  const load = loader()
  let records = { rows: [], models: new Map(), families: [] } // of the chosen device
  let wantedSize

  // State: in the address

  const state = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value))
  const address = () => `#${new URLSearchParams(state())}`
  // The devices with records for the question, one of which is chosen.
  const offerDevices = () => {
    const chosen = device.value
    device.replaceChildren(...devices.filter(({ dataset }) => dataset.answers.split(" ").includes(question.value)))
    device.value = chosen
    if (!device.value) device.selectedIndex = 0
  }
  const read = () => {
    const given = new URLSearchParams(!whole && location.hash.includes("=") ? location.hash.slice(1) : "")
    device.replaceChildren(...devices)
    fill(form, given)
    wantedSize = given.get("size")
    // A link may name a device and no question.
    if (given.has("device") && !given.has("question")) [question.value] = device.selectedOptions[0].dataset.answers.split(" ")
    offerDevices()
  }
  const show = (control, isShown) => {
    control.parentElement.hidden = control.disabled = !isShown
  }

  const use = found => {
    records = found
    for (const [slug, told] of records.models) models.set(slug, told), (names[slug] = told.label)
    for (const family of records.families) names[`family:${family}`] = say(texts.estimate.unlisted, { family }).join("")
    if (!(model.value in names)) model.value = records.first[question.value]
    model.value = model.value // a slug becomes a name once that is known
    update()
  }
  // Loads the records of the device and answers. Returns whether it is still the chosen one.
  const settle = async () => {
    const [option] = device.selectedOptions
    const found = await load(option.dataset.records, unpacked).catch(() => null)
    if (option !== device.selectedOptions[0]) return false
    if (found) use(found)
    else answer.replaceChildren(element("p", {}, texts.failed))
    return true
  }

  // Offers a choice of image size, where there is one to make, and returns its rows. Records without a size belong to each.
  const ofSize = rows => {
    const { sizes, usual } = imageSizes(rows, records.rows)
    const chosen = sizes.length > 1 ? [wantedSize, size.value, usual].find(each => sizes.includes(each)) : ""
    if (!whole) {
      size.replaceChildren(...sizes.map(each => new Option(each)))
      show(size, chosen)
    }
    size.value = chosen
    return chosen ? rows.filter(row => ["", chosen].includes(row.input_size)) : rows
  }
  const update = () => {
    const isThroughput = question.value === "throughput"
    // The short form answers from the rows of the matrix beside it.
    const offered = records.rows.filter(row => row.workload === question.value && (!whole || row.leads))
    model.offer(suggested(offered, records))
    const known = ofSize(offered.filter(row => row.model === model.value))
    show(batch, !isThroughput)
    const batches = [...new Set(known.map(row => row.batch_size))].filter(Boolean).sort((a, b) => a - b)
    batch.list.replaceChildren(...batches.map(value => element("option", { value })))
    if (!whole) show(cache, !isThroughput || known.some(row => row.cold.ready_s ?? row.warm.ready_s))
    answer.classList.remove("estimated")
    const invalid = [calls, batch].find(each => !each.checkValidity())
    if (invalid) {
      answer.replaceChildren(element("p", {}, texts[`invalid_${invalid.name}`]))
      return whole || more.replaceChildren()
    }

    const asked = { cache: "cold", ...state(), isThroughput, calls: Number(calls.value), batch: Number(batch.value) }
    const measured = isThroughput ? known : known.filter(row => row.batch_size === nearest(known, asked.batch))
    const [best] = ranked(measured, asked.calls, asked.cache)
    answer.classList.toggle("estimated", Boolean(best?.estimate))
    const told = best ? answers.single(best, asked) : answers.missing(asked)
    answer.replaceChildren(filled(answerTemplate, name => told[name]))
    if (whole) return (more.href = whole + address())
    const isProgram = best && !best.estimate && answers.outcome(best, asked) !== "eager-failed"
    const further = isProgram ? answers.program(best, asked) : {}
    more.replaceChildren(filled(moreTemplate, name => further[name]))
    const [toRecords, link] = more.querySelectorAll("p > a")
    toRecords.href = `${toExplorer}#${new URLSearchParams({ workload: question.value, device: device.value, model: model.value })}`
    toRecords.hidden = !measured.some(row => row.origin !== "estimated")
    link.href = address()
  }

  // What a reader does

  const choose = async () => {
    if (!(await settle())) return
    if (form.checkValidity() && !whole) history.replaceState(history.state, "", address())
  }
  const ask = () => {
    offerDevices()
    model.value = ""
    choose()
  }
  // A model that nobody measured has a family if its name begins with that of one.
  const familyOf = name => {
    const [longest] = records.families.filter(each => name.startsWith(each)).sort((a, b) => b.length - a.length)
    return `family:${longest}`
  }
  let waiting
  form.oninput = ({ target }) => {
    clearTimeout(waiting) // not after every digit
    if (target.name === "question") ask()
    else if (target.name !== "model" || model.value in names) waiting = setTimeout(choose, target.type === "number" ? 150 : 0)
  }
  form.elements.model.onchange = () => {
    model.complete(familyOf)
    choose()
  }
  form.elements.model.onfocus = ({ target }) => target.select()
  more.addEventListener("click", async ({ target }) => {
    if (!target.dataset.copied) return
    await navigator.clipboard.writeText(more.querySelector("code").textContent)
    target.textContent = target.dataset.copied
  })
  form.onsubmit = () => false
  const follow = () => {
    if (!root.isConnected) return removeEventListener("hashchange", follow)
    if (!location.hash.includes("=")) return
    read()
    settle()
  }
  addEventListener("hashchange", follow)
  form.hidden = false
  form.addEventListener("focusin", settle, { once: true }) // before the reader has chosen
  if (!whole) root.nextElementSibling.open = false
  model.value = slug
  read()
  if (whole) use(unpacked(JSON.parse(root.dataset.rows)))
  else settle()
}
