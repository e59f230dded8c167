// The table: sorts, turns pages, and opens rows.

import { count } from "../numbers.js"
import { element, isolated, say } from "../words.js"

const PAGE = 25 // rows: each one adds layout time to every change

// `view` says what is where; `details` resolves to the content below an opened row; `sort` is called when a reader sorts.
export const makeTable = (root, texts, view, details, sort) => {
  const { says } = texts
  const region = root.querySelector(".table")
  const [caption, head, body] = region.querySelectorAll("caption, thead tr, tbody")
  const status = root.querySelector("[role=status]")
  const [previous, next] = root.querySelectorAll(".explorer-pager button")
  const opened = new Set()
  let [state, columns, rows, page] = []

  const heading = ({ id, heading, number }) => {
    const [isAscending, isDescending] = [id, `-${id}`].map(each => each === state.sort)
    const next = isAscending || (number && !isDescending) ? `-${id}` : id
    const button = element("button", { type: "button", title: says.sort, onclick: () => sort(next) }, heading)
    const ariaSort = isAscending ? "ascending" : isDescending ? "descending" : null
    return element("th", { scope: "col", className: number ? "number" : "", ariaSort }, button)
  }
  const opener = (id, name) => {
    const onclick = () => {
      opened.delete(id) || opened.add(id)
      draw()
      document.getElementById(id).focus()
    }
    const ariaExpanded = String(opened.has(id))
    return element("button", { id, type: "button", className: "explorer-open", ariaExpanded, onclick }, isolated(name))
  }
  const cell = (row, { number, text, tone }) => {
    const told = text(row)
    const className = told === null ? "explorer-unknown" : tone?.(row) || ""
    return element("td", { className: number ? "number" : "" }, element("span", { className }, isolated(told ?? says.unknown)))
  }
  const across = content => element("tr", {}, element("td", { colSpan: columns.length }, content))
  const line = row => {
    const id = `row-${row.id}`
    const [name, ...others] = columns
    const head = element("th", { scope: "row" }, opener(id, name.text(row)))
    const tr = element("tr", { className: row.doubtful ? "doubtful" : "" }, head, others.map(column => cell(row, column)))
    return opened.has(id) ? [tr, detail(row)] : [tr]
  }
  const detail = row => {
    const place = element("div", { className: "explorer-detail" })
    details(row).then(content => place.append(...content), () => place.append(texts.failed))
    return across(place)
  }
  const draw = () => {
    const [first, last] = [page * PAGE, Math.min((page + 1) * PAGE, rows.length)]
    const made = rows.slice(first, last).flatMap(line)
    body.replaceChildren(...(made.length ? made : [across(says.nothing)]))
    const [from, to, of] = [first + 1, last, rows.length].map(n => isolated(count(n)))
    status.replaceChildren(...(rows.length ? say(says.range, { first: from, last: to, count: of }) : [says.nothing]))
    previous.disabled = page === 0
    next.disabled = last === rows.length
  }
  for (const [button, step] of [[previous, -1], [next, 1]])
    button.onclick = () => {
      page += step
      draw()
      if (button.disabled) region.focus()
    }

  // Shows `found` from the first page.
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
  }
}
