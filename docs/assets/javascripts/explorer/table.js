// The table: takes rows and columns, returns table elements that sort, group and turn pages.

import { element, isolated, say } from "../words.js"

const PAGE = 25 // lines: each one adds layout time to every change

// `columns` are { id, heading, show, number?, rank?, tells? }: `show` returns the content of a cell, `rank` its sort key,
// `tells` whether that is worth a column, else the column is hidden: by default, whether it is known.
// `grouping` ranks the values of the columns to group by, and `named` returns the name of a group.
// `details` resolves to the content below an opened row; `sorted` is called when a reader sorts.
export const makeTable = ({ columns, grouping, named, texts, details, sorted }) => {
  const { says } = texts
  const isKnown = value => (value ?? null) !== null
  const opened = new Set() // rows, by id
  const closed = new Set() // groups, by value
  let shown = { rows: [], sort: null, group: "" }
  let page = 0

  // Unknown values come last in either direction; groups keep the order of the filters.
  const ordered = () => {
    const { rows, sort, group } = shown
    const rank = columns.find(({ id }) => id === sort?.id)?.rank ?? (row => row[sort.id] ?? null)
    const compare = ([x], [y]) => {
      if (x === null || y === null) return (x === null) - (y === null)
      return (sort.desc ? -1 : 1) * (x < y ? -1 : x > y ? 1 : 0)
    }
    const all = sort ? rows.map(row => [rank(row), row]).sort(compare).map(([, row]) => row) : rows
    return group ? all.toSorted((a, b) => grouping[group](a) - grouping[group](b)) : all
  }
  // The lines of all pages: rows, and for each group { value, rows } before its rows.
  const lines = () => {
    const { group } = shown
    if (!group) return ordered()
    const groups = [...Map.groupBy(ordered(), row => row[group])]
    return groups.flatMap(([value, rows]) => [{ value, rows }, ...(closed.has(value) ? [] : rows)])
  }

  // Elements

  const caption = element("caption")
  const head = element("thead")
  const body = element("tbody")
  const whole = element("table", { className: "atlas" }, caption, head, body)
  const region = element("div", { className: "table", tabIndex: 0, role: "region" }, whole)
  const status = element("span", { role: "status" })
  const step = (text, by) => {
    const button = element("button", { type: "button", className: "md-button" }, text)
    button.onclick = () => {
      page += by
      drawRows()
      if (button.disabled) region.focus()
    }
    return button
  }
  const previous = step(says.previous, -1)
  const next = step(says.next, 1)
  const pager = element("nav", { className: "explorer-pager", ariaLabel: says.pages }, previous, status, next)

  const heading = column => {
    const button = element("button", { type: "button", title: says.sort }, column.heading)
    const desc = () => (shown.sort?.id === column.id ? !shown.sort.desc : Boolean(column.number))
    button.onclick = () => sorted({ id: column.id, desc: desc() })
    return element("th", { scope: "col", className: column.number ? "number" : "" }, button)
  }
  const heads = columns.map(heading)
  head.append(element("tr", {}, heads))

  const opener = (isOpen, onclick, ...text) => element("button", { type: "button", className: "explorer-open", ariaExpanded: String(isOpen), onclick }, ...text)
  const line = row => {
    const isOpen = opened.has(row.id)
    const toggle = () => {
      opened[isOpen ? "delete" : "add"](row.id)
      const [made, ...below] = withDetails(row)
      if (isOpen) tr.nextElementSibling.remove()
      tr.replaceWith(made, ...below)
      made.querySelector("button").focus()
    }
    const cells = columns.slice(1).map((column, at) => element("td", { className: column.number ? "number" : "", hidden: heads[at + 1].hidden }, column.show(row)))
    const name = element("th", { scope: "row" }, opener(isOpen, toggle, columns[0].show(row)))
    const tr = element("tr", { className: row.doubtful ? "doubtful" : "" }, name, cells)
    return tr
  }
  const detail = row => {
    const place = element("div", { className: "explorer-detail" })
    details(row).then(content => place.append(...content), () => place.append(says.failed))
    return element("tr", {}, element("td", { colSpan: columns.length }, place))
  }
  const withDetails = row => (opened.has(row.id) ? [line(row), detail(row)] : [line(row)])
  const group = ({ value, rows }, nth) => {
    const toggle = () => {
      closed[closed.has(value) ? "delete" : "add"](value)
      drawRows()
      body.querySelectorAll(".explorer-group button")[nth].focus()
    }
    const count = isolated(`(${texts.figures.count(rows.length)})`)
    const text = [texts.headings[shown.group], ": ", isolated(named(shown.group, rows[0])), " ", count]
    const button = opener(!closed.has(value), toggle, ...text)
    return element("tr", { className: "explorer-group" }, element("th", { scope: "colgroup", colSpan: columns.length }, button))
  }

  const drawRows = () => {
    const all = lines()
    const here = all.slice(page * PAGE, (page + 1) * PAGE)
    const empty = element("tr", {}, element("td", { colSpan: columns.length }, says.nothing))
    let groups = 0
    const made = here.flatMap(each => (each.rows ? [group(each, groups++)] : withDetails(each)))
    body.replaceChildren(...(made.length ? made : [empty]))
    const count = n => isolated(texts.figures.count(n))
    const place = { first: count(page * PAGE + 1), last: count(page * PAGE + here.length), count: count(all.length) }
    status.replaceChildren(...(all.length ? say(says.range, place) : [says.nothing]))
    previous.disabled = page === 0
    next.disabled = (page + 1) * PAGE >= all.length
  }

  return {
    elements: [region, pager],
    // Shows `rows` in this order and grouping, from the first page.
    draw: (rows, { sort, group, title }) => {
      shown = { rows, sort, group }
      page = 0
      caption.textContent = region.ariaLabel = title
      heads.forEach((th, at) => {
        const column = columns[at]
        th.hidden = at && rows.length && !rows.some(column.tells ?? (row => isKnown(row[column.id])))
        th.ariaSort = column.id === sort?.id ? (sort.desc ? "descending" : "ascending") : null
      })
      drawRows()
    },
    rows: ordered,
  }
}
