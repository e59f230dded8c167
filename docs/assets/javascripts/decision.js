// The form of "Should I compile?". It is in the content, where instant navigation runs it. A short one has the address of
// the page with the `whole` answer, and the rows of its first case; it leaves the address of its own page alone.
// The records of a device are one file, which is loaded when the device is chosen.
for (const root of document.querySelectorAll("[data-decision]:not([data-ready])")) {
  root.dataset.ready = ""
  const texts = JSON.parse(root.dataset.texts)
  const snippets = JSON.parse(root.dataset.snippets)
  const { whole } = root.dataset
  const form = root.querySelector("form")
  const answer = root.querySelector(".decision-answer")
  const more = root.querySelector("[data-more]")
  const { question, device, model, size, batch, calls, cache } = form.elements
  const controls = { question, device, model, size, batch, calls, cache }
  const isAsked = ([, control]) => control.value && !control.closest?.("label")?.hidden
  const state = () => Object.entries(controls).filter(isAsked).map(([name, control]) => [name, control.value])
  const defaults = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value]))
  const devices = [...device.options]
  const names = new Map(Object.entries(texts.tasks)) // of models and tasks, also of those that another device has

  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), name === "code" && { dir: "ltr" }, attributes)
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

  const MOST_MODELS = 50 // of a task that are shown together

  // Device and model of each question, and the question that was asked last. A browser may refuse to keep them.
  const KEPT = "atlas.case"
  const remembered = () => {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? {}
    } catch {
      return {}
    }
  }
  const remember = () => {
    const { value } = question
    try {
      localStorage.setItem(KEPT, JSON.stringify({ ...remembered(), question: value, [value]: { device: device.value, model: model.value } }))
    } catch {} // nothing depends on it
  }

  // The devices with records for the question, one of which is chosen.
  const offerDevices = () => {
    const chosen = device.value
    device.replaceChildren(...devices.filter(option => option.dataset.answers.split(" ").includes(question.value)))
    device.value = chosen
    if (!device.value) device.selectedIndex = 0
  }
  const read = () => {
    const kept = remembered()
    const before = new URLSearchParams({ ...kept[kept.question], ...(kept.question && { question: kept.question }) })
    // Links to sections load it again.
    const given = (!whole && (location.hash.includes("=") ? new URLSearchParams(location.hash.slice(1)) : window.atlas)) || before
    device.replaceChildren(...devices)
    for (const [name, control] of Object.entries(controls)) {
      const value = given.get(name)
      control.value = value && !(control.type === "number" && Number.isNaN(Number(value))) ? value : defaults[name]
      control.value ||= defaults[name]
    }
    wantedSize = given.get("size")
    // A link may name no question.
    if (!given.has("question")) [question.value] = device.selectedOptions[0].dataset.answers.split(" ")
    offerDevices()
  }
  let wantedSize
  const address = () => {
    const given = new URLSearchParams(state())
    if (!whole) window.atlas = given
    return `#${given}`
  }
  const variant = row => [`PyTorch\u00a0${row.torch}`, row.compile_mode, row.dtype, ...(row.dynamic === "auto" ? [] : [`dynamic=${row.dynamic}`])]
  const deviceName = () => device.selectedOptions[0].textContent
  const isThroughput = () => question.value === "throughput"

  const fail = () => answer.replaceChildren(p(texts.failed))

  const start = ([{ recommend, ranked, nearest, reaching, unpacked, total_s }, { number }, { combobox }]) => {
    const files = new Map()
    const load = ({ value, dataset }) => {
      if (!files.has(value)) files.set(value, fetch(dataset.records).then(response => response.json()).then(unpacked))
      files.get(value).catch(() => files.delete(value)) // as on a 404 page: try again
      return files.get(value)
    }
    let records = { rows: [], models: new Map(), families: [] }
    const models = new Map() // of all devices that were chosen
    const use = found => {
      records = found
      for (const [slug, model] of records.models) models.set(slug, model), names.set(slug, model.label)
      for (const family of records.families) names.set(`family:${family}`, say(texts.estimate.unlisted, { family }).join(""))
      if (!names.has(model.value)) model.value = records.first[question.value]
      update()
    }
    const settle = () => {
      const [option] = device.selectedOptions
      const isWanted = () => option === device.selectedOptions[0] // nobody chose another one meanwhile
      return load(option).then(found => isWanted() && use(found), () => isWanted() && fail())
    }
    const found = (all, shown) => !records.models.size ? texts.loading : say(!all ? texts.not_found : all > shown ? texts.found_more : texts.found, { count: number(all, 0), shown: number(shown, 0) }).join("")
    const offerModels = combobox(root.querySelector(".combobox"), found)
    const count = (x, digits) => (x === "inf" ? texts.never : number(x, Math.min(0, digits)))
    const ms = (x, digits) => (x >= 1e3 && digits <= 0 ? seconds(x / 1e3, digits + 3) : `${number(x, digits)}\u00a0ms`)
    const seconds = (x, digits) => `${number(x, digits)}\u00a0s`
    const ratio = (x, digits) => `${number(x, digits)}×`
    const percent = ([x, digits]) => number(Math.abs(x), digits - 2, { style: "percent" }) // the sentences say which way
    const three = x => 2 - Math.floor(Math.log10(x)) // decimals of what follows from several figures
    const images = (x, digits) => say(texts.images_s, { value: number(x, digits) }).join("").replace(" ", "\u00a0")
    const outcome = row => recommend(row, Number(calls.value), cache.value)
    const words = row => (isThroughput() && texts.throughput[outcome(row)]) || texts.outcomes[outcome(row)]
    const show = (headline, ...parts) => {
      answer.classList.remove("estimated")
      answer.replaceChildren(element("p", { className: "decision-outcome" }, element("strong", {}, headline)), ...parts)
    }
    const command = slug => {
      const { auto_class, checkpoint, task } = models.get(slug)
      const line = `python -m bench run --checkpoint ${auto_class ? "" : "timm/"}${checkpoint} --task ${task}`
      return element("pre", { tabIndex: 0 }, element("code", {}, line))
    }
    const note = (...parts) => element("p", { className: "decision-note" }, ...parts)
    const facts = (...told) => element("p", { className: "decision-case" }, inARow(told.filter(Boolean)))
    // An estimate, which looks like no record.
    const guess = row => {
      const { way, speedup, reach, error, tried, family, relatives } = row.estimate
      const [headline, reason] = words(row)
      const times = x => isolated(ratio(x, 2))
      const [[near_low, near_high], [low, high]] = reach.map(each => reaching(speedup, each).map(times))
      const link = ([slug, size, its]) => {
        const href = `${whole ?? ""}#${new URLSearchParams({ question: question.value, device: slug, model: row.model, size })}`
        const on = devices.find(({ value }) => value === slug).textContent
        const said = { model: isolated(names.get(row.model)), size: isolated(size), device: isolated(on), speedup: times(its) }
        return element("li", {}, element("a", { href }, say(texts.estimate.relative, said)))
      }
      const ofFamily = element("a", { href: new URL(`../models/families/${family}/`, new URL(whole ?? "", location)) }, isolated(family))
      const off = { error: isolated(number(error, 1, { style: "percent" })), tried: isolated(number(tried, 0)) }
      show(
        headline,
        element("p", { className: "estimate-mark" }, texts.estimate.mark),
        p(say(reason, { device: isolated(deviceName()), speedup: times(speedup), low, high, near_low, near_high })),
        facts(names.get(row.model), deviceName(), row.input_size),
        note(say(texts.estimate.error, off), " ", say(texts.estimate.ways[way], { family: ofFamily })),
        ...(relatives.length ? [element("ul", {}, relatives.map(link))] : []),
        ...(!whole && models.has(row.model) ? [note(texts.estimate.measure), command(row.model)] : []),
      )
      answer.classList.add("estimated")
    }
    const single = row => {
      if (row.estimate) return guess(row)
      const n = Number(calls.value)
      const { ready_s, calls: breakEven } = row[cache.value]
      const eager = row.eager_ms?.[0] ?? null
      const compiled = row.compiled_ms?.[0] ?? null
      const total = (latency_ms, ready, s = total_s(latency_ms, n, ready)) => exact(s === null ? null : [s, three(Math.abs(s))], seconds)
      const figures = () => ({
        ...(isThroughput()
          ? { eager_images_s: exact(row.eager_images_s, images), compiled_images_s: exact(row.compiled_images_s, images), batch: [isolated(number(row.batch_size, 0))] }
          : { eager_ms: within(row.eager_ms, ms), compiled_ms: within(row.compiled_ms, ms) }),
        speedup: within(row.speedup, ratio),
        ready_s: exact(ready_s, seconds),
        break_even: within(breakEven, count),
        ...(!isThroughput() && { eager_total: total(eager), compiled_total: total(compiled, ready_s?.[0] ?? null) }),
        ...(isThroughput() && row.verdict === "faster" && { saved: total(eager - compiled) }),
      })
      const [headline, reason] = words(row)
      const source = texts.sources[row.source]
      const values = {
        ...figures(),
        calls: isolated(count(n, 0)),
        saving: eager && compiled ? isolated(ms(eager - compiled, Math.min(row.eager_ms[3], row.compiled_ms[3]))) : texts.unknown,
        change: row.change ? isolated(percent(row.change)) : "",
        status: texts.statuses[row.status] ?? texts.unknown,
      }
      const isNear = !isThroughput() && row.batch_size !== Number(batch.value)
      const near = isNear ? [note(say(texts.nearest, { size: isolated(number(row.batch_size, 0)), batch: isolated(number(Number(batch.value), 0)) }))] : []
      const told = [...variant(row), row.input_size, source.name]
      if (whole) return show(headline, ...near, p(say(reason, values)), facts(...told))
      const notes = [row.speedup && reason !== "%(status)s" && texts.statuses[row.status], texts.doubts[row.doubt]]
      notes.push(row.speedup && row.origin === "measured" && row.processes === 1 && texts.one_process)
      show(
        headline,
        ...near,
        p(say(reason, values)),
        facts(names.get(row.model), deviceName(), ...told),
        element("dl", {}, Object.entries(figures()).map(([name, figure]) => element("div", {}, element("dt", {}, texts.figures[name]), element("dd", {}, figure)))),
        ...notes.filter(Boolean).map(text => note(text)),
        note(say(texts.about, { name: isolated(source.name) }), " ", source[question.value]),
      )
    }

    const tally = found => {
      const firsts = [...Map.groupBy(found, row => row.model).values()].map(([best]) => best)
      const counts = Map.groupBy(firsts, outcome)
      show(
        names.get(model.value),
        element("ul", {}, [...counts].map(([name, group]) => element("li", {}, say(texts.tally, { outcome: texts.outcomes[name][0], count: isolated(count(group.length, 0)) })))),
      )
    }

    const missing = () => {
      const [headline, reason] = words()
      const said = p(say(reason, { model: isolated(names.get(model.value)), device: isolated(deviceName()) }))
      show(headline, said, ...(!whole && models.has(model.value) ? [p(texts.estimate.thin), command(model.value)] : []))
    }

    const table = (found, isOne) => {
      const choice = row => {
        const button = element("button", { type: "button" }, names.get(row.model))
        button.addEventListener("click", () => {
          model.value = row.model
          choose()
          form.querySelector("[role=combobox]").focus()
        })
        return button
      }
      const shown = (figure, digits) => (figure ? number(figure[0], digits ?? figure.at(-1)) : texts.unknown)
      const figures = row => Object.fromEntries((isThroughput() ? ["eager_images_s", "compiled_images_s"] : ["eager_ms", "compiled_ms"]).map(name => [name, shown(row[name])]))
      const cells = row => ({
        ...(isOne ? {} : { model: choice(row) }),
        recommendation: words(row)[0],
        ...(isThroughput() ? { batch: number(row.batch_size, 0) } : { break_even: exact(row[cache.value].calls, count) }),
        compile_mode: inARow(variant(row)),
        ...figures(row),
        origin: texts.sources[row.source].name,
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
        ...records.models.get(row.model),
        dtype: autocast || ["float32", "TF32"].includes(row.dtype) ? "" : `, dtype=torch.${row.dtype}`,
        autocast: autocast ? `, torch.autocast(device.type, torch.${autocast})` : "",
        compile: `${row.dtype === "TF32" ? 'torch.set_float32_matmul_precision("high")\n' : ""}${compiles ? `model = torch.compile(${given.join(", ")})\n` : ""}`,
      }
      const code = say(values.auto_class ? snippets.transformers : snippets.timm, values).join("")
      const copy = element("button", { type: "button", className: "md-button" }, texts.copy)
      copy.addEventListener("click", () => navigator.clipboard.writeText(code).then(() => (copy.textContent = texts.copied)))
      const block = element("pre", { tabIndex: 0 }, element("code", {}, code))
      return [p(element("strong", {}, texts.snippet)), block, ...(navigator.clipboard ? [p(copy)] : [])]
    }

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
    // Names of models and, where they are few, of all for a task.
    const offer = rows => {
      const tasks = Map.groupBy(rows, row => row.task)
      const known = new Set(rows.map(row => row.model))
      const isFew = task => names.has(task) && new Set(tasks.get(task).map(row => row.model)).size <= MOST_MODELS
      const slugs = [...[...records.models.keys()].filter(slug => known.has(slug)), ...[...tasks.keys()].filter(isFew)]
      const groups = records.families.map(family => [`family:${family}`, names.get(`family:${family}`), family])
      offerModels(slugs.map(slug => [slug, names.get(slug)]), names.get(model.value), groups.filter(([slug]) => known.has(slug)))
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
      if (invalid) {
        answer.replaceChildren(p(invalid === calls ? texts.invalid_calls : texts.invalid_batch))
        return whole || more.replaceChildren()
      }
      const at = nearest(known, Number(batch.value))
      const found = ranked(isThroughput() ? known : known.filter(row => row.batch_size === at), Number(calls.value), cache.value)
      const recorded = found.filter(row => row.origin !== "estimated").map(row => ({ ...row, estimate: undefined }))
      if (!found.length) missing()
      else if (isOne) single(found[0])
      else tally(recorded)
      if (whole) return (more.href = whole + address())
      more.replaceChildren(
        ...(found.length && isOne && !found[0].estimate && outcome(found[0]) !== "eager-failed" ? snippet(found[0]) : []),
        ...(recorded[Number(isOne && !found[0]?.estimate)] ? [table(recorded, isOne)] : []),
        p(element("a", { href: address() }, texts.link)),
      )
    }

    const choose = async () => {
      await settle()
      remember()
      if (form.checkValidity() && !whole) history.replaceState(history.state, "", address())
    }
    const ask = () => {
      const { device: before, model: last } = remembered()[question.value] ?? {}
      device.replaceChildren(...devices)
      if (before) device.value = before
      offerDevices()
      model.value = last ?? ""
      choose()
    }
    let waiting
    form.addEventListener("input", ({ target }) => {
      clearTimeout(waiting) // not after every digit
      if (target.name === "question") ask()
      else waiting = setTimeout(choose, target.type === "number" ? 150 : 0)
    })
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
    const isFirst = () => ["question", "device", "model"].every(name => controls[name].value === defaults[name])
    if (whole && isFirst()) use(unpacked(JSON.parse(root.dataset.rows)))
    else {
      offerModels([], "")
      settle()
    }
  }

  Promise.all(["recommend", "numbers", "combobox"].map(name => import(`./${name}.js`))).then(start).catch(fail)
}
