// What "Should I compile?" answers, by the names in the templates of decision.html.jinja. Takes records and what was asked;
// reads no form and no address.

import { count, number, ratio } from "../numbers.js"
import { element, isolated, say } from "../words.js"
import { reaching, recommend, total_s } from "./recommend.js"

const three = x => 2 - Math.floor(Math.log10(Math.abs(x))) // decimals of what follows from several figures

// Full-width signs include their space.
const inARow = facts => facts.filter(Boolean).flatMap(fact => [isolated(fact), fact.endsWith("）") ? "· " : "\u00a0· "]).slice(0, -1)

// `texts` are the words, `snippets` the code of a program, and `whole` the address of the page with all figures, if this
// is the short form. `names` are those of models, `models` the models by slug, and `devices` names by slug.
export const makeAnswers = ({ texts, snippets, whole, families, names, models, devices }) => {
  const callCount = (x, digits) => (x === "inf" ? texts.never : count(x, digits))
  const seconds = (x, digits) => `${number(x, digits)}\u00a0s`
  const ms = (x, digits) => (x >= 1e3 && digits <= 0 ? seconds(x / 1e3, digits + 3) : `${number(x, digits)}\u00a0ms`)
  const percent = (x, digits) => number(Math.abs(x), digits, { style: "percent" }) // the sentences say which way
  const images = (x, digits) => say(texts.images_s, { value: number(x, digits) }).join("").replace(" ", "\u00a0")

  // A value, with its interval if known. The last figure says with how many decimals both are shown.
  const within = (interval, show) => {
    if (!interval) return [texts.unknown]
    const digits = interval.at(-1)
    const [value, low, high] = interval.slice(0, -1).map(end => (end === null ? null : isolated(show(end, digits))))
    return interval[0] === "inf" || !low || !high ? [value] : say(texts.within, { value, low, high })
  }
  const exact = (interval, show) => within(interval && [interval[0], interval.at(-1)], show)

  const outcome = (row, asked) => recommend(row, asked.calls, asked.cache)
  const words = (row, asked) => (asked.isThroughput && texts.throughput[outcome(row, asked)]) || texts.outcomes[outcome(row, asked)]
  // How to measure a model that has no record.
  const command = slug => {
    if (whole || !models.has(slug)) return ""
    const { auto_class, checkpoint, task } = models.get(slug)
    return `python -m bench run --checkpoint ${auto_class ? "" : "timm/"}${checkpoint} --task ${task}`
  }

  // An estimate, which looks like no record.
  const estimated = (row, asked) => {
    const { way, speedup, reach, error, tried, family, relatives } = row.estimate
    const [headline, reason] = words(row, asked)
    const times = x => isolated(ratio(x))
    const [[near_low, near_high], [low, high]] = reach.map(each => reaching(speedup, each).map(times))
    const relative = ([device, size, its]) => {
      const state = new URLSearchParams({ question: asked.question, device, model: row.model, size })
      const [model, place] = [names[row.model], devices[device]].map(isolated)
      const said = say(texts.estimate.relative, { model, size: isolated(size), device: place, speedup: times(its) })
      return element("a", { href: `${whole ?? ""}#${state}` }, said)
    }
    const off = { error: isolated(percent(error, 1)), tried: isolated(count(tried)) }
    const ofFamily = { family: element("a", { href: families.replace(/each(?=\/|\.html$)/, family) }, isolated(family)) }
    return {
      headline,
      isEstimate: true,
      reason: say(reason, { device: isolated(devices[asked.device]), speedup: times(speedup), low, high, near_low, near_high }),
      facts: inARow([names[row.model], devices[asked.device], row.input_size]),
      about: [...say(texts.estimate.error, off), " ", ...say(texts.estimate.ways[way], ofFamily)],
      items: relatives.map(each => element("li", {}, relative(each))),
      toMeasure: command(row.model) && texts.estimate.measure,
      command: command(row.model),
    }
  }

  const figuresOf = (row, asked) => {
    const { ready_s, calls } = row[asked.cache]
    const total = (ms, ready, s = total_s(ms ?? null, asked.calls, ready)) => exact(s === null ? null : [s, three(s)], seconds)
    const shared = { speedup: within(row.speedup, ratio), ready_s: exact(ready_s, seconds), break_even: within(calls, callCount) }
    if (!asked.isThroughput)
      return {
        eager_ms: within(row.eager_ms, ms),
        compiled_ms: within(row.compiled_ms, ms),
        ...shared,
        eager_total: total(row.eager_ms?.[0]),
        compiled_total: total(row.compiled_ms?.[0], ready_s?.[0] ?? null),
      }
    return {
      eager_images_s: exact(row.eager_images_s, images),
      compiled_images_s: exact(row.compiled_images_s, images),
      batch: [isolated(count(row.batch_size))],
      ...shared,
      ...(row.verdict === "faster" && { saved: total(row.eager_ms[0] - row.compiled_ms[0]) }),
    }
  }

  // The answer for one record.
  const recorded = (row, asked) => {
    const [headline, reason] = words(row, asked)
    const source = texts.sources[row.source]
    const [eager, compiled] = [row.eager_ms, row.compiled_ms]
    const figures = figuresOf(row, asked)
    const values = {
      ...figures,
      calls: isolated(count(asked.calls)),
      saving: eager && compiled ? isolated(ms(eager[0] - compiled[0], Math.min(eager[3], compiled[3]))) : texts.unknown,
      change: row.change ? isolated(percent(row.change[0], row.change[1] - 2)) : "",
      status: texts.statuses[row.status] ?? texts.unknown,
    }
    const sizes = { size: isolated(count(row.batch_size)), batch: isolated(count(asked.batch)) }
    const isNear = !asked.isThroughput && row.batch_size !== asked.batch
    const dynamic = row.dynamic !== "auto" && `dynamic=${row.dynamic}`
    const told = [`PyTorch\u00a0${row.torch}`, row.compile_mode, row.dtype, dynamic, row.input_size, source.name]
    const saved = asked.cache === "cold" && figures.break_even && row.warm.calls && row.cold.calls && row.warm.calls[0] !== "inf"
    const warm = saved && say(texts.with_cache, { warm: exact(row.warm.calls, callCount), break_even: exact(row.cold.calls, callCount) })
    const short = { warm, headline, near: isNear && say(texts.nearest, sizes), reason: say(reason, values) }
    if (whole) return { ...short, facts: inARow(told) }
    return {
      ...short,
      facts: inARow([names[row.model], devices[asked.device], ...told]),
      hasFigures: true,
      ...figures,
      status: row.speedup && reason !== "%(status)s" && texts.statuses[row.status],
      doubt: texts.doubts[row.doubt],
      isOneProcess: row.speedup && row.origin === "measured" && row.processes === 1,
      about: [...say(texts.about, { name: isolated(source.name) }), " ", source[asked.question]],
    }
  }

  const missing = asked => {
    const [headline, reason] = words(undefined, asked)
    const [model, device] = [names[asked.model] ?? asked.model, devices[asked.device]].map(isolated)
    const toMeasure = command(asked.model) && texts.estimate.thin
    return { headline, reason: say(reason, { model, device }), toMeasure, command: command(asked.model) }
  }

  // A program for a record.
  const program = (row, asked) => {
    const mode = row.compile_mode !== "default" && `mode="${row.compile_mode}"`
    const given = ["model", mode, { true: "dynamic=True", false: "dynamic=False" }[row.dynamic]].filter(Boolean)
    const [, autocast] = row.dtype.split("autocast ")
    const compiles = ["compile", "close-calls", "likely", "cost-unknown"].includes(outcome(row, asked))
    const tf32 = row.dtype === "TF32" ? 'torch.set_float32_matmul_precision("high")\n' : ""
    const values = {
      ...models.get(row.model),
      dtype: autocast || ["float32", "TF32"].includes(row.dtype) ? "" : `, dtype=torch.${row.dtype}`,
      autocast: autocast ? `, torch.autocast(device.type, torch.${autocast})` : "",
      compile: tf32 + (compiles ? `model = torch.compile(${given.join(", ")})\n` : ""),
    }
    return { program: say(values.auto_class ? snippets.transformers : snippets.timm, values), canCopy: navigator.clipboard }
  }

  const single = (row, asked) => ({
    ...(row.estimate ? estimated : recorded)(row, asked),
    varying: texts.varying[asked.sizes],
    better: texts.better[`${asked.device} ${row.model} ${row.batch_size}`],
  })
  return { single, missing, program, outcome }
}
