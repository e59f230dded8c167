// The table: sorts, groups, turns pages, and opens rows.

import { element, isolated, say } from "../words.js"
import { count } from "./figures.js"

const PAGE = 25 // lines: each one adds layout time to every change

// `view` says what is where; `details` resolves to the content below an opened row; `sort` is called when a reader sorts.
export const makeTable = (root, texts, view, details, sort) => {
  const { says, headings } = texts
  const region = root.querySelector(".table")
  const [caption, head, body] = region.querySelectorAll("caption, thead tr, tbody")
  const status = root.querySelector("[role=status]")
  const [previous, next] = root.querySelectorAll(".explorer-pager button")
  const opened = new Set() // rows, by id
  const closed = new Set() // groups, by value
  const toggle = (set, value) => set.delete(value) || set.add(value)
  let [state, columns, rows, page] = []

  const heading = ({ id, heading, number }) => {
    const [ascending, descending] = [id, `-${id}`].map(each => each === state.sort)
    const then = descending || (number && !ascending) ? (descending ? id : `-${id}`) : ascending ? `-${id}` : id
    const button = element("button", { type: "button", title: says.sort, onclick: () => sort(then) }, heading)
    const ariaSort = ascending ? "ascending" : descending ? "descending" : null
    return element("th", { scope: "col", className: number ? "number" : "", ariaSort }, button)
  }
  const opener = (isOpen, onclick, ...text) =>
    element("button", { type: "button", className: "explorer-open", ariaExpanded: String(isOpen), onclick }, ...text)
  const cell = (row, { number, text, tone }) => {
    const told = text(row)
    const className = told === null ? "explorer-unknown" : tone?.(row) || ""
    return element("td", { className: number ? "number" : "" }, element("span", { className }, isolated(told ?? says.unknown)))
  }
  const line = row => {
    const isOpen = opened.has(row.id)
    const turn = () => {
      toggle(opened, row.id)
      if (isOpen) tr.nextElementSibling.remove()
      const made = lines(row)
      tr.replaceWith(...made)
      made[0].querySelector("button").focus()
    }
    const [name, ...others] = columns
    const tr = element(
      "tr",
      { className: row.doubtful ? "doubtful" : "" },
      element("th", { scope: "row" }, opener(isOpen, turn, isolated(name.text(row)))),
      others.map(column => cell(row, column)),
    )
    return tr
  }
  const across = (name, ...content) => element("tr", {}, element(name, { colSpan: columns.length }, ...content))
  const detail = row => {
    const place = element("div", { className: "explorer-detail" })
    details(row).then(content => place.append(...content), () => place.append(texts.failed))
    return across("td", place)
  }
  const lines = row => (opened.has(row.id) ? [line(row), detail(row)] : [line(row)])
  const group = ([value, members]) => {
    const turn = () => {
      toggle(closed, value)
      draw()
      body.querySelector(`[data-group="${CSS.escape(value)}"] button`).focus()
    }
    const name = [headings[state.group], ": ", isolated(view.named(members[0], state.group)), " ", isolated(`(${count(members.length)})`)]
    const tr = across("th", opener(!closed.has(value), turn, ...name))
    tr.className = "explorer-group"
    tr.dataset.group = value
    tr.cells[0].scope = "colgroup"
    return tr
  }

  // The lines of all pages: functions that make them, for each group one before its rows.
  const all = () => {
    const made = list => list.map(row => () => lines(row))
    if (!state.group) return made(rows)
    const groups = [...Map.groupBy(rows, row => row[state.group])]
    return groups.flatMap(each => [() => [group(each)], ...(closed.has(each[0]) ? [] : made(each[1]))])
  }
  const draw = () => {
    const every = all()
    const [first, last] = [page * PAGE, Math.min((page + 1) * PAGE, every.length)]
    body.replaceChildren(...(every.length ? every.slice(first, last).flatMap(make => make()) : [across("td", says.nothing)]))
    const [from, to, of] = [first + 1, last, every.length].map(n => isolated(count(n)))
    status.replaceChildren(...(every.length ? say(says.range, { first: from, last: to, count: of }) : [says.nothing]))
    previous.disabled = page === 0
    next.disabled = last === every.length
  }
  for (const [button, step] of [[previous, -1], [next, 1]])
    button.onclick = () => {
      page += step
      draw()
      if (button.disabled) region.focus()
    }

  // Shows `found` from the first page, and returns the rows in their order.
  return (given, found) => {
    const isSorting = head.contains(document.activeElement)
    state = given
    columns = view.columns(state, found)
    rows = view.ordered(found, columns, state)
    page = 0
    caption.textContent = region.ariaLabel = state.compare ? says.pairs : says.caption
    head.replaceChildren(...columns.map(heading))
    if (isSorting) head.querySelector("[aria-sort] button")?.focus()
    draw()
    return rows
  }
}
