// The chart above the table: a point for each row with both values, drawn by Chart.js in the colours of the page.

import { element, isolated, say } from "../words.js"

// Series differ by colour and shape; all after the seventh share the last.
const MARKS = { circle: "●", triangle: "▲", rect: "■", rectRot: "◆", star: "✱", crossRot: "✕", cross: "+" }
const SHAPES = Object.keys(MARKS)
const SERIES = SHAPES.length

export const makeChart = texts => {
  const { says, figures } = texts
  const canvas = element("canvas", { role: "img" })
  const legend = element("ul", { className: "explorer-legend" })
  const caption = element("figcaption")
  const box = element("div", { className: "explorer-canvas" }, canvas)
  const figure = element("figure", { className: "explorer-chart" }, box, legend, caption)
  const isRightToLeft = document.body.dir === "rtl"
  let Chart // once loaded
  let chart
  let last

  // Read once and after a change of colours: each read makes the browser compute the style of the whole page.
  let styles = new Map()
  const style = name => {
    if (!styles.has(name)) styles.set(name, getComputedStyle(figure).getPropertyValue(name).trim())
    return styles.get(name)
  }
  const muted = () => style("--md-default-fg-color--light")

  // A canvas has no elements to isolate figures with.
  const ordered = text => (isRightToLeft ? `\u200e${text}\u200e` : text)

  const colour = at => style(`--explorer-${at + 1}`)

  // Groups the rows into a series per value of `by`, the most frequent first.
  const series = (points, by) => {
    const groups = [...Map.groupBy(points, ({ row }) => row[by.id])].sort(([, a], [, b]) => b.length - a.length)
    const kept = groups.slice(0, groups.length > SERIES ? SERIES - 1 : SERIES)
    const rest = groups.slice(kept.length).flatMap(([, group]) => group)
    const named = kept.map(([, group]) => ({ name: by.text(group[0].row), group }))
    return rest.length ? [...named, { name: says.others, group: rest }] : named
  }

  const axis = ({ label, log, show }, isX) => ({
    type: log ? "logarithmic" : "linear",
    reverse: isX && isRightToLeft,
    position: isX ? "bottom" : isRightToLeft ? "right" : "left",
    title: { display: true, text: log ? say(says.log, { axis: label }).join("") : label, color: muted() },
    ticks: { color: muted(), callback: value => ordered(show(value)), maxTicksLimit: figure.clientWidth < 520 ? 4 : 7, maxRotation: 0 },
    grid: { color: style("--atlas-line") },
    border: { color: style("--atlas-line") },
  })

  // The line on which nothing changes: the same on both axes, or a speedup of one.
  const reference = (points, { same }) => {
    if (same === undefined) return []
    const ends = [Math.min, Math.max].map(end => points.map(({ x }) => x).reduce((a, b) => end(a, b)))
    const data = ends.map(x => ({ x, y: same === "x" ? x : same }))
    return [{ data, showLine: true, pointRadius: 0, pointHitRadius: 0, borderColor: muted(), borderDash: [5, 4], borderWidth: 1 }]
  }

  const draw = () => {
    const { rows, x, y, by } = last
    const points = rows.filter(row => row[x.id] > 0 && Number.isFinite(row[y.id]) && (!y.log || row[y.id] > 0)).map(row => ({ x: row[x.id], y: row[y.id], row }))
    chart?.destroy()
    chart = undefined
    box.hidden = legend.hidden = !points.length
    const count = isolated(figures.count(points.length))
    const told = points.length ? say(says.chart, { x: x.label, y: y.label, count }) : [says.no_chart]
    if (points.some(({ row }) => row.doubtful)) told.push(" ", says.hollow)
    caption.replaceChildren(...told)
    canvas.ariaLabel = caption.textContent
    if (!points.length) return
    const all = series(points, by)
    legend.replaceChildren(
      ...all.map(({ name }, at) => {
        const mark = element("span", { ariaHidden: "true" }, MARKS[SHAPES[at]])
        mark.style.color = colour(at)
        return element("li", {}, mark, " ", isolated(name))
      }),
    )
    legend.hidden = all.length < 2
    if (Chart) paint(points, all)
  }

  const paint = (points, all) => {
    const { x, y, name } = last
    const isCrowded = points.length > 1000
    chart = new Chart(canvas, {
      type: "scatter",
      data: {
        datasets: [
          ...all.flatMap(({ group }, at) =>
            [false, true].map(hollow => ({
              data: group.filter(({ row }) => row.doubtful === hollow),
              pointStyle: SHAPES[hollow && at > 3 ? 0 : at], // a star cannot be hollow
              pointRadius: isCrowded ? 2 : 4,
              pointBorderWidth: isCrowded && !hollow ? 0 : 1,
              borderColor: colour(at),
              backgroundColor: hollow ? "#0000" : `${colour(at)}${isCrowded ? "66" : "99"}`,
            })),
          ),
          ...reference(points, y),
        ],
      },
      options: {
        animation: false,
        parsing: false,
        normalized: true,
        maintainAspectRatio: false,
        layout: { padding: 6 },
        scales: { x: axis(x, true), y: axis(y, false) },
        plugins: {
          tooltip: {
            rtl: isRightToLeft,
            textDirection: document.body.dir,
            filter: ({ raw }) => Boolean(raw.row),
            callbacks: {
              label: ({ raw }) => [name(raw.row), `${x.label}: ${ordered(x.show(raw.x))}`, `${y.label}: ${ordered(y.show(raw.y))}`],
            },
          },
        },
      },
    })
  }

  // A change of dark or light changes every colour.
  const observer = new MutationObserver(() => {
    if (!figure.isConnected) return observer.disconnect()
    styles = new Map()
    if (last) draw()
  })
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] })

  return {
    element: figure,
    // Draws `y` over `x`, both { id, label, show, log }, coloured by `by`; `name` returns the name of a row.
    // Legend and caption come at once, so that nothing below them moves when the points follow.
    draw: what => {
      last = what
      draw()
    },
    load: async () => {
      const { Chart: library, ...parts } = await import("./vendor/chart.js")
      library.register(...Object.values(parts))
      library.defaults.font.family = getComputedStyle(document.body).fontFamily
      Chart = library
      draw()
    },
  }
}
