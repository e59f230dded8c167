// The table: sorts, groups, turns pages, and opens rows.

import { count } from "../numbers.js"
import { element, isolated, say } from "../words.js"

const PAGE = 25 // lines: each one adds layout time to every change

// `view` says what is where; `details` resolves to the content below an opened row; `sort` is called when a reader sorts.
export const makeTable = (root, texts, view, details, sort) => {
  const { says, headings } = texts
  const region = root.querySelector(".table")
  const [caption, head, body] = region.querySelectorAll("caption, thead tr, tbody")
  const status = root.querySelector("[role=status]")
  const [previous, next] = root.querySelectorAll(".explorer-pager button")
  const turned = new Set() // what a reader has turned: rows are closed at first, groups are open
  let [state, columns, rows, page] = []

  const heading = ({ id, heading, number }) => {
    const [isAscending, isDescending] = [id, `-${id}`].map(each => each === state.sort)
    const next = isAscending || (number && !isDescending) ? `-${id}` : id
    const button = element("button", { type: "button", title: says.sort, onclick: () => sort(next) }, heading)
    const ariaSort = isAscending ? "ascending" : isDescending ? "descending" : null
    return element("th", { scope: "col", className: number ? "number" : "", ariaSort }, button)
  }
  const opener = (id, isOpen, ...text) => {
    const onclick = () => {
      turned.delete(id) || turned.add(id)
      draw()
      document.getElementById(id).focus()
    }
    return element("button", { id, type: "button", className: "explorer-open", ariaExpanded: String(isOpen), onclick }, ...text)
  }
  const cell = (row, { number, text, tone }) => {
    const told = text(row)
    const className = told === null ? "explorer-unknown" : tone?.(row) || ""
    return element("td", { className: number ? "number" : "" }, element("span", { className }, isolated(told ?? says.unknown)))
  }
  const across = (name, ...content) => element("tr", {}, element(name, { colSpan: columns.length }, ...content))
  const line = row => {
    const id = `row-${row.id}`
    const [name, ...others] = columns
    const head = element("th", { scope: "row" }, opener(id, turned.has(id), isolated(name.text(row))))
    const tr = element("tr", { className: row.doubtful ? "doubtful" : "" }, head, others.map(column => cell(row, column)))
    return turned.has(id) ? [tr, detail(row)] : [tr]
  }
  const detail = row => {
    const place = element("div", { className: "explorer-detail" })
    details(row).then(content => place.append(...content), () => place.append(texts.failed))
    return across("td", place)
  }
  const group = ({ id, members }) => {
    const name = isolated(view.named(members[0], state.group))
    const tr = across("th", opener(id, !turned.has(id), headings[state.group], ": ", name, " ", isolated(`(${count(members.length)})`)))
    tr.className = "explorer-group"
    tr.cells[0].scope = "colgroup"
    return [tr]
  }

  // The lines of all pages: rows, and for each group { id, members } before its rows.
  const all = () => {
    if (!state.group) return rows
    const groups = Map.groupBy(rows, row => row[state.group])
    return [...groups].flatMap(([value, members]) => {
      const id = `group-${encodeURIComponent(value)}`
      return [{ id, members }, ...(turned.has(id) ? [] : members)]
    })
  }
  const draw = () => {
    const every = all()
    const [first, last] = [page * PAGE, Math.min((page + 1) * PAGE, every.length)]
    const made = every.slice(first, last).flatMap(each => (each.members ? group(each) : line(each)))
    body.replaceChildren(...(made.length ? made : [across("td", says.nothing)]))
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
