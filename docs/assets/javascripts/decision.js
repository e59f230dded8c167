// The form of "Should I compile?". It is in the content, where instant navigation runs it. A short one has the address of
// the page with the `whole` answer, and the rows of its first case; it leaves the address of its own page alone.
for (const root of document.querySelectorAll("[data-decision]:not([data-ready])")) {
  root.dataset.ready = ""
  const texts = JSON.parse(root.dataset.texts)
  const models = JSON.parse(root.dataset.models)
  const template = JSON.parse(root.dataset.snippet)
  const { whole } = root.dataset
  const form = root.querySelector("form")
  const answer = root.querySelector("[role=status]")
  const more = root.querySelector("[data-more]")
  const { device, model, batch, calls, cache } = form.elements
  const controls = { device, model, batch, calls, cache }
  const state = () => Object.entries(controls).map(([name, control]) => [name, control.value])
  const defaults = Object.fromEntries(state())

  const list = new Intl.ListFormat(document.documentElement.lang)

  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), attributes)
    made.append(...children.flat())
    return made
  }
  const p = (...children) => element("p", {}, ...children)
  // Isolates names and figures.
  const isolated = text => element("bdi", { dir: /[ء-ي]/.test(text) ? "rtl" : "ltr" }, text)
  // Full-width signs include their space.
  const inARow = facts => facts.flatMap(fact => [isolated(fact), fact.endsWith("）") ? "· " : "\u00a0· "]).slice(0, -1)
  const say = (template, values) => template.split(/%\((\w+)\)s/).flatMap((part, at) => (at % 2 ? [values[part]].flat() : part))

  // A value, with its interval if known. The last figure says with how many decimals both are shown.
  const within = (interval, show) => {
    if (!interval) return [texts.unknown]
    const digits = interval.at(-1)
    const [value, low, high] = interval.slice(0, -1).map(end => (end === null ? null : isolated(show(end, digits))))
    return interval[0] === "inf" || !low || !high ? [value] : say(texts.within, { value, low, high })
  }
  const exact = (interval, show) => within(interval && [interval[0], interval.at(-1)], show)

  const read = () => {
    if (whole) return
    // Links to sections load it again.
    const given = location.hash.includes("=") ? new URLSearchParams(location.hash.slice(1)) : window.atlas
    for (const [name, control] of Object.entries(controls)) {
      control.value = given?.get(name) ?? defaults[name]
      control.value ||= defaults[name]
    }
  }
  const address = () => {
    const given = new URLSearchParams(state())
    if (!whole) window.atlas = given
    return `#${given}`
  }
  const label = (select, value) => [...select.options].find(option => option.value === value).textContent
  const variant = row => [`PyTorch\u00a0${row.torch}`, row.compile_mode, row.dtype, ...(row.dynamic === "auto" ? [] : [`dynamic=${row.dynamic}`])]

  const load = () => fetch(root.dataset.decision).then(response => response.json()) // fails on a 404 page
  const fail = () => answer.replaceChildren(p(texts.failed))

  const start = ([{ recommend, ranked, total_s }, { number }, first]) => {
    let rows = first
    let all
    const again = error => {
      all = undefined // try again
      throw error
    }
    const loaded = () => (all ??= whole ? load().then(found => (rows = found), again) : Promise.resolve())
    const count = (x, digits) => (x === "inf" ? texts.never : number(x, Math.min(0, digits)))
    const ms = (x, digits) => (x >= 1e3 && digits <= 0 ? seconds(x / 1e3, digits + 3) : `${number(x, digits)}\u00a0ms`)
    const seconds = (x, digits) => `${number(x, digits)}\u00a0s`
    const ratio = (x, digits) => `${number(x, digits)}×`
    const percent = ([x, digits]) => number(x, digits - 2, { style: "percent", signDisplay: "exceptZero" })
    const three = x => 2 - Math.floor(Math.log10(x)) // decimals of what follows from several figures
    const outcome = row => recommend(row, Number(calls.value), cache.value)
    const show = (headline, ...parts) => answer.replaceChildren(element("p", { className: "decision-outcome" }, element("strong", {}, headline)), ...parts)

    const single = row => {
      const n = Number(calls.value)
      const { ready_s, calls: breakEven } = row[cache.value]
      const eager = row.eager_ms?.[0] ?? null
      const compiled = row.compiled_ms?.[0] ?? null
      const total = (latency_ms, ready) => {
        const s = total_s(latency_ms, n, ready)
        return s === null ? null : [s, three(s)]
      }
      const figures = () => ({
        eager_ms: within(row.eager_ms, ms),
        compiled_ms: within(row.compiled_ms, ms),
        speedup: within(row.speedup, ratio),
        ready_s: exact(ready_s, seconds),
        break_even: within(breakEven, count),
        eager_total: exact(total(eager), seconds),
        compiled_total: exact(total(compiled, ready_s?.[0] ?? null), seconds),
      })
      const [headline, reason] = texts.outcomes[outcome(row)]
      const values = {
        ...figures(),
        calls: isolated(count(n, 0)),
        saving: eager && compiled ? isolated(ms(eager - compiled, Math.min(row.eager_ms[3], row.compiled_ms[3]))) : texts.unknown,
        change: row.change ? isolated(percent(row.change)) : "",
        status: texts.statuses[row.status] ?? texts.unknown,
      }
      const notes = [row.speedup && reason !== "%(status)s" && texts.statuses[row.status]]
      if (row.speedup) notes.push(row.origin === "published" ? row.speedup[1] === null && texts.no_interval : row.processes === 1 && texts.one_process)
      const facts = [...variant(row), texts.origins[row.origin]]
      if (whole) return show(headline, p(say(reason, values)), element("p", { className: "decision-case" }, inARow(facts)))
      show(
        headline,
        p(say(reason, values)),
        element("p", { className: "decision-case" }, inARow([label(model, row.model), label(device, row.device), ...facts])),
        element("dl", {}, Object.entries(figures()).map(([name, figure]) => element("div", {}, element("dt", {}, texts.figures[name]), element("dd", {}, figure)))),
        ...notes.filter(Boolean).map(note => element("p", { className: "decision-note" }, note)),
      )
    }

    const tally = found => {
      const firsts = [...Map.groupBy(found, row => row.model).values()].map(([best]) => best)
      const counts = Map.groupBy(firsts, outcome)
      show(
        label(model, model.value),
        element("ul", {}, [...counts].map(([name, group]) => element("li", {}, say(texts.tally, { outcome: texts.outcomes[name][0], count: isolated(count(group.length, 0)) })))),
      )
    }

    const missing = known => {
      const sizes = [...new Set(known.map(row => row.batch_size))].sort((a, b) => a - b)
      const [headline, reason] = texts.outcomes[outcome()]
      show(headline, p(say(reason, { sizes: sizes.length ? list.format(sizes.map(size => number(size, 0))) : texts.none })))
    }

    const table = found => {
      const choice = row => {
        const button = element("button", { type: "button" }, label(model, row.model))
        button.addEventListener("click", () => {
          model.value = row.model
          choose()
          model.focus()
        })
        return button
      }
      const cells = row => ({
        model: choice(row),
        recommendation: texts.outcomes[outcome(row)][0],
        break_even: exact(row[cache.value].calls, count),
        compile_mode: inARow(variant(row)),
        ...Object.fromEntries(["eager_ms", "compiled_ms"].map(arm => [arm, row[arm] ? number(row[arm][0], row[arm][3]) : texts.unknown])),
        origin: texts.origins[row.origin],
      })
      const line = row => element("tr", {}, Object.values(cells(row)).map((cell, at) => element(at ? "td" : "th", at ? {} : { scope: "row" }, cell)))
      const head = element("tr", {}, Object.keys(cells(found[0])).map(name => element("th", { scope: "col" }, texts.headings[name])))
      const whole = element("table", { className: "atlas" }, element("caption", {}, texts.records), element("thead", {}, head), element("tbody", {}, found.map(line)))
      return element("div", { className: "table", tabIndex: 0, role: "group", ariaLabel: texts.records }, whole)
    }

    const snippet = row => {
      const mode = row.compile_mode !== "default" && `mode="${row.compile_mode}"`
      const given = ["model", mode, { true: "dynamic=True", false: "dynamic=False" }[row.dynamic]].filter(Boolean)
      const [, autocast] = row.dtype.split("autocast ")
      const compiles = ["compile", "close-calls", "likely", "cost-unknown"].includes(outcome(row))
      const values = {
        ...models[row.model],
        dtype: autocast || row.dtype === "float32" ? "" : `, dtype=torch.${row.dtype}`,
        autocast: autocast ? `, torch.autocast(device.type, torch.${autocast})` : "",
        compile: compiles ? `model = torch.compile(${given.join(", ")})\n` : "",
      }
      const code = say(template, values).join("")
      const copy = element("button", { type: "button", className: "md-button" }, texts.copy)
      copy.addEventListener("click", () => navigator.clipboard.writeText(code).then(() => (copy.textContent = texts.copied)))
      const block = element("pre", { tabIndex: 0 }, element("code", {}, code))
      return [p(element("strong", {}, texts.snippet)), block, ...(navigator.clipboard ? [p(copy)] : [])]
    }

    const update = () => {
      const isGiven = calls.validity.valid
      calls.ariaInvalid = !isGiven
      if (!isGiven) {
        answer.replaceChildren(p(texts.invalid_calls))
        return whole || more.replaceChildren()
      }
      // The short form answers from the rows of the matrix beside it.
      const known = rows.filter(row => (!whole || row.leads) && row.device === device.value && [row.model, row.task].includes(model.value))
      const found = ranked(known.filter(row => row.batch_size === Number(batch.value)), Number(calls.value), cache.value)
      const isOne = whole || model.value in models
      if (!found.length) missing(known)
      else if (isOne) single(found[0])
      else tally(found)
      if (whole) return (more.href = whole + address())
      more.replaceChildren(
        ...(found.length && isOne && outcome(found[0]) !== "eager-failed" ? snippet(found[0]) : []),
        ...(found[Number(isOne)] ? [table(found)] : []),
        p(element("a", { href: address() }, texts.link)),
      )
    }

    const choose = () => {
      if (calls.validity.valid && !whole) history.replaceState(history.state, "", address())
      loaded().then(update).catch(fail)
    }
    let waiting
    form.addEventListener("input", () => {
      clearTimeout(waiting) // not after every digit
      waiting = setTimeout(choose, 150)
    })
    form.onsubmit = () => false
    const follow = () => {
      if (!root.isConnected) return removeEventListener("hashchange", follow)
      read()
      update()
    }
    addEventListener("hashchange", follow)
    form.hidden = false
    form.addEventListener("focusin", () => loaded().catch(fail)) // before the reader has chosen
    if (!whole) root.nextElementSibling.open = false
    read()
    update()
  }

  Promise.all([import("./recommend.js"), import("./numbers.js"), whole ? JSON.parse(root.dataset.rows) : load()])
    .then(start)
    .catch(fail)
}
