// The table: takes rows and columns, returns table elements. TanStack Table sorts, groups and paginates.

import * as tanstack from "./vendor/table-core.js"
import { element, isolated, say } from "./words.js"

const PAGE = 25 // rows: each one adds layout time to every change

const features = tanstack.tableFeatures({
  coreReactivityFeature: tanstack.storeReactivityBindings(),
  rowSortingFeature: tanstack.rowSortingFeature,
  sortedRowModel: tanstack.createSortedRowModel(),
  columnGroupingFeature: tanstack.columnGroupingFeature,
  groupedRowModel: tanstack.createGroupedRowModel(),
  rowExpandingFeature: tanstack.rowExpandingFeature,
  expandedRowModel: tanstack.createExpandedRowModel(),
  rowPaginationFeature: tanstack.rowPaginationFeature,
  paginatedRowModel: tanstack.createPaginatedRowModel(),
})

// `columns` are { id, heading, show, number?, rank?, tells? }: `show` returns the content of a cell, `rank` its sort key,
// `tells` whether that is worth a column, else the column is hidden: by default, whether it is known.
// `grouping` ranks the values of the columns to group by, and `named` returns the name of a group.
// `details` resolves to the content below an opened row; `sorted` is called when a reader sorts.
export const makeTable = ({ columns, grouping, named, texts, details, sorted }) => {
  const { says } = texts
  let direction = 1

  // Unknown values come last in either direction; groups keep the order of the filters.
  const ranks = Object.fromEntries(columns.map(({ id, rank }) => [id, rank ?? (row => row[id] ?? null)]))
  const compare = (a, b, id) => {
    if (a.groupingColumnId) return direction * (groupRank(a) - groupRank(b))
    const x = ranks[id](a.original)
    const y = ranks[id](b.original)
    if (x === null || y === null) return direction * ((x === null) - (y === null))
    return x < y ? -1 : x > y ? 1 : 0
  }
  const groupRank = ({ groupingColumnId, original }) => grouping[groupingColumnId](original)

  const table = tanstack.constructTable({
    features,
    data: [],
    columns: [...new Set([...columns.map(({ id }) => id), ...Object.keys(grouping)])].map(id => ({ id, accessorFn: row => row[id], sortFn: compare, sortUndefined: false })),
    getRowId: row => row.id,
    autoResetAll: false,
    groupedColumnMode: false,
    initialState: { expanded: true, pagination: { pageIndex: 0, pageSize: PAGE } },
  })
  const opened = new Set()

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
      table.setPageIndex(page => page + by)
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
    const th = element("th", { scope: "col", className: column.number ? "number" : "" }, button)
    button.onclick = () => {
      const [now] = table.atoms.sorting.get()
      sorted(now?.id === column.id ? { id: column.id, desc: !now.desc } : { id: column.id, desc: Boolean(column.number) })
    }
    return th
  }
  const heads = columns.map(heading)
  head.append(element("tr", {}, heads))

  const opener = (isOpen, text) => element("button", { type: "button", className: "explorer-open", ariaExpanded: String(isOpen) }, text)
  const line = row => {
    const id = `explorer-${row.id}`
    const isOpen = opened.has(row.id)
    const button = opener(isOpen, columns[0].show(row.original))
    if (isOpen) button.setAttribute("aria-controls", id)
    button.onclick = () => {
      opened[isOpen ? "delete" : "add"](row.id)
      const lines = isOpen ? [line(row)] : [line(row), detail(row)]
      tr.nextElementSibling?.id === id && tr.nextElementSibling.remove()
      tr.replaceWith(...lines)
      lines[0].querySelector("button").focus()
    }
    const cells = columns.slice(1).map((column, at) => element("td", { className: column.number ? "number" : "", hidden: heads[at + 1].hidden }, column.show(row.original)))
    const tr = element("tr", { className: row.original.doubtful ? "doubtful" : "" }, element("th", { scope: "row" }, button), cells)
    return tr
  }
  const detail = row => {
    const place = element("div", { className: "explorer-detail" })
    const fill = content => place.append(...content)
    details(row.original).then(fill, () => fill([says.failed]))
    const cell = element("td", { colSpan: columns.length }, place)
    return element("tr", { id: `explorer-${row.id}` }, cell)
  }
  const group = row => {
    const isOpen = row.getIsExpanded()
    const text = [texts.headings[row.groupingColumnId], ": ", isolated(named(row.groupingColumnId, row.original)), " ", isolated(`(${texts.figures.count(row.leafRows.length)})`)]
    const button = opener(isOpen, text)
    button.onclick = () => {
      row.toggleExpanded()
      drawRows()
      body.querySelectorAll("[data-group]").forEach(each => each.dataset.group === row.id && each.querySelector("button").focus())
    }
    const tr = element("tr", { className: "explorer-group" }, element("th", { scope: "colgroup", colSpan: columns.length }, button))
    tr.dataset.group = row.id
    return tr
  }

  const drawRows = () => {
    const { rows } = table.getRowModel()
    const { pageIndex } = table.atoms.pagination.get()
    const total = table.getPrePaginatedRowModel().rows.length
    const lines = rows.flatMap(row => (row.getIsGrouped() ? [group(row)] : opened.has(row.id) ? [line(row), detail(row)] : [line(row)]))
    const empty = element("tr", {}, element("td", { colSpan: columns.length }, says.nothing))
    body.replaceChildren(...(lines.length ? lines : [empty]))
    const count = n => isolated(texts.figures.count(n))
    const place = { first: count(pageIndex * PAGE + 1), last: count(pageIndex * PAGE + rows.length), count: count(total) }
    status.replaceChildren(...(total ? say(says.range, place) : [says.nothing]))
    previous.disabled = !table.getCanPreviousPage()
    next.disabled = !table.getCanNextPage()
  }

  return {
    elements: [region, pager],
    // Shows `rows` in this order and grouping, from the first page.
    draw: (rows, { sort, group, title }) => {
      direction = sort?.desc ? -1 : 1
      table.setOptions(options => ({ ...options, data: rows }))
      table.setSorting(sort ? [sort] : [])
      table.setGrouping(group ? [group] : [])
      table.setPageIndex(0)
      caption.textContent = region.ariaLabel = title
      heads.forEach((th, at) => {
        const column = columns[at]
        th.hidden = at && rows.length && !rows.some(column.tells ?? (row => (row[column.id] ?? null) !== null))
        th.ariaSort = column.id === sort?.id ? (sort.desc ? "descending" : "ascending") : null
      })
      drawRows()
    },
    // All rows in the order shown, without group rows.
    rows: () => table.getSortedRowModel().rows.flatMap(row => (row.getIsGrouped() ? row.getLeafRows().filter(leaf => !leaf.getIsGrouped()) : [row])).map(row => row.original),
  }
}
