// The chart above the table: a point for each row with both values, drawn by Chart.js in the colours of the page.

import { count } from "../numbers.js"
import { element, isolated, say } from "../words.js"

// Series differ by colour and shape; all after the seventh share the last.
const MARKS = { circle: "●", triangle: "▲", rect: "■", rectRot: "◆", star: "✱", crossRot: "✕", cross: "+" }
const SHAPES = Object.keys(MARKS)

// Returns a function that draws the rows of a state. Legend and caption come at once, so that nothing below them moves when
// the points follow.
export const makeChart = (figure, { says }, view) => {
  const [box, canvas, legend, caption] = figure.querySelectorAll(".explorer-canvas, canvas, ul, figcaption")
  const isRightToLeft = document.body.dir === "rtl"
  let [Chart, chart, state, rows, waiting] = []

  // A canvas has no elements to isolate figures with.
  const ordered = text => (isRightToLeft ? `\u200e${text}\u200e` : text)

  // The rows as a series for each value of `by`, the most frequent first.
  const series = (points, by) => {
    const groups = [...Map.groupBy(points, ({ row }) => row[by]).values()].sort((a, b) => b.length - a.length)
    const rest = groups.length > SHAPES.length ? groups.splice(SHAPES.length - 1).flat() : []
    const named = groups.map(group => ({ name: view.named(group[0].row, by), group }))
    return rest.length ? [...named, { name: says.others, group: rest }] : named
  }

  const draw = () => {
    const { x, y } = view.axes(state)
    const isDrawn = row => row[x.id] > 0 && Number.isFinite(row[y.id]) && (!y.isLog || row[y.id] > 0)
    const points = rows.filter(isDrawn).map(row => ({ x: row[x.id], y: row[y.id], row }))
    const all = series(points, view.colouredBy(state))
    const style = getComputedStyle(figure)
    const colours = all.map((_, at) => style.getPropertyValue(`--explorer-${at + 1}`).trim())
    const told = points.length ? say(says.chart, { x: x.label, y: y.label, count: isolated(count(points.length)) }) : [says.no_chart]
    caption.replaceChildren(...told, points.some(({ row }) => row.doubtful) ? ` ${says.hollow}` : "")
    canvas.ariaLabel = caption.textContent
    legend.replaceChildren(...all.map(({ name }, at) => entry(name, SHAPES[at], colours[at])))
    box.hidden = !points.length
    legend.hidden = all.length < 2
    // After the table is painted; of several changes only the last.
    clearTimeout(waiting)
    waiting = setTimeout(() => {
      chart?.destroy()
      chart = Chart && points.length ? new Chart(canvas, { type: "scatter", ...drawing(points, all, { x, y }, colours, style) }) : null
    })
  }

  const entry = (name, shape, colour) => {
    const mark = element("span", { ariaHidden: "true" }, MARKS[shape])
    mark.style.color = colour
    return element("li", {}, mark, " ", isolated(name))
  }

  // What Chart.js takes.
  const drawing = (points, all, { x, y }, colours, style) => {
    const isCrowded = points.length > 1000
    const isNarrow = figure.clientWidth < 520
    const [muted, line] = ["--md-default-fg-color--light", "--atlas-line"].map(name => style.getPropertyValue(name).trim())
    const dots = ({ group }, at) =>
      [false, true].map(isHollow => ({
        data: group.filter(({ row }) => row.doubtful === isHollow),
        pointStyle: SHAPES[isHollow && at > 3 ? 0 : at], // a star cannot be hollow
        pointRadius: isCrowded ? 2 : 4,
        pointBorderWidth: isCrowded && !isHollow ? 0 : 1,
        borderColor: colours[at],
        backgroundColor: isHollow ? "#0000" : `${colours[at]}${isCrowded ? "66" : "99"}`,
      }))
    // The line on which nothing changes: the same on both axes, or a speedup of one.
    const ends = [Math.min, Math.max].map(end => points.map(point => point.x).reduce((a, b) => end(a, b)))
    const reference = {
      data: ends.map(end => ({ x: end, y: y.same === "x" ? end : y.same })),
      ...{ showLine: true, pointRadius: 0, pointHitRadius: 0, borderColor: muted, borderDash: [5, 4], borderWidth: 1 },
    }
    const axis = ({ label, isLog, show }, place) => ({
      ...place,
      type: isLog ? "logarithmic" : "linear",
      title: { display: true, text: isLog ? say(says.log, { axis: label }).join("") : label, color: muted },
      ticks: { color: muted, callback: value => ordered(show(value)), maxTicksLimit: isNarrow ? 4 : 7, maxRotation: 0 },
      grid: { color: line },
      border: { color: line },
    })
    const told = ({ raw }) => [
      view.described(raw.row).join(isRightToLeft ? " \u200f· " : " · "),
      ...[[x, raw.x], [y, raw.y]].map(([{ label, show }, value]) => `${label}: ${ordered(show(value))}`),
    ]
    return {
      data: { datasets: [...all.flatMap(dots), ...(y.same ? [reference] : [])] },
      options: {
        animation: false,
        parsing: false,
        normalized: true,
        maintainAspectRatio: false,
        layout: { padding: 6 },
        scales: {
          x: axis(x, { position: "bottom", reverse: isRightToLeft }),
          y: axis(y, { position: isRightToLeft ? "right" : "left" }),
        },
        plugins: {
          tooltip: { rtl: isRightToLeft, textDirection: document.body.dir, filter: ({ raw }) => Boolean(raw.row), callbacks: { label: told } },
        },
      },
    }
  }

  // Draws the points once they can be seen.
  new IntersectionObserver(async ([{ isIntersecting }], observer) => {
    if (!isIntersecting) return
    observer.disconnect()
    const { Chart: library, ...parts } = await import("./vendor/chart.js")
    library.register(...Object.values(parts))
    library.defaults.font.family = getComputedStyle(document.body).fontFamily
    Chart = library
    draw()
  }).observe(figure)
  // A change of dark or light changes every colour.
  const observer = new MutationObserver(() => (figure.isConnected ? draw() : observer.disconnect()))
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] })

  return (given, found) => {
    state = given
    rows = found
    draw()
  }
}
