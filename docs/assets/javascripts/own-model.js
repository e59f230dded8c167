// The form of "My model is not here": estimates the speedup of a model from what it computes, in the browser.
for (const root of document.querySelectorAll("[data-own-model]:not([data-ready])")) {
  root.dataset.ready = ""
  const texts = JSON.parse(root.dataset.texts)
  const form = root.querySelector("form")
  const answer = root.querySelector(".own-answer")
  const { device, line, flop, activations, parameters, eager } = form.elements
  const say = text => answer.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }))
  let loading
  const load = () => (loading ??= fetch(root.dataset.estimator).then(response => response.json()))

  const start = ([{ evaluated, features, isCounted, estimate }, { judged }, { element }]) => {
    // What the reader has given, in units: the pasted line, else the numbers.
    const given = () => {
      const numbers = { flop: 1e9 * flop.value, activations: 1e6 * activations.value, parameters: 1e6 * parameters.value }
      const known = line.value.trim() ? JSON.parse(line.value.slice(line.value.indexOf("{"))) : numbers
      return { ...known, eager_ms: eager.value > 0 ? 1e3 / eager.value : NaN }
    }
    const isValid = ({ flop, activations, parameters, operations = {} }) =>
      [flop, activations, parameters].every(x => x > 0 && Number.isFinite(x)) && Object.values(operations).every(each => Array.isArray(each) && each.length === 3 && each.every(x => x >= 0))
    const fill = known => {
      const shown = { flop: [flop, 1e9], activations: [activations, 1e6], parameters: [parameters, 1e6] }
      for (const [name, [field, unit]] of Object.entries(shown)) field.value = Number((known[name] / unit).toPrecision(4))
    }
    const update = async () => {
      answer.classList.remove("estimated")
      for (const each of [flop, activations, parameters]) each.readOnly = Boolean(line.value.trim())
      let known
      try {
        known = given()
        if (line.value.trim() && !isValid(known)) throw new SyntaxError()
        line.ariaInvalid = false
      } catch {
        line.ariaInvalid = true
        return say(texts.invalid)
      }
      if (line.value.trim()) fill(known)
      if (!isValid(known)) return say(texts.waiting)
      const model = await load()
      const speedup = Math.exp(evaluated(model, features(known, device.value, model)))
      const found = model.cases.find(each => each.operations === isCounted(known, model) && each.eager === known.eager_ms > 0)
      const made = { ...found, speedup, same: model.same, evidence: "features" }
      const headline = element("p", { className: "own-outcome" }, element("strong", {}, texts.headlines[judged(made)]))
      const name = element("bdi", { dir: "ltr" }, device.selectedOptions[0].textContent)
      const coarse = found.operations ? [] : [element("p", { className: "decision-note" }, texts.coarse)]
      answer.replaceChildren(headline, ...estimate(made, texts.reason, { device: name }, texts, []), ...coarse)
      answer.classList.add("estimated")
    }
    let waiting
    form.addEventListener("input", () => {
      clearTimeout(waiting) // not after every digit
      waiting = setTimeout(() => update().catch(() => say(texts.failed)), 150)
    })
    form.onsubmit = () => false
    form.hidden = false
    say(texts.waiting)
  }

  Promise.all(["estimate", "recommend", "explorer/words"].map(name => import(`./${name}.js`))).then(start).catch(() => say(texts.failed))
}
