// Sorts `table[data-sortable]` by the column whose header is clicked; a second click reverses the order.
// A cell sorts by `data-sort` (a number, empty without a value), else by its text. Cells without a value come last.
{
  const { ascending, descending } = document.currentScript.dataset
  const { lang } = document.documentElement

  const value = (row, column) => {
    const cell = row.cells[column]
    const text = cell.dataset.sort ?? cell.textContent.trim()
    return text === "" || isNaN(text) ? text : Number(text)
  }

  const compare = (a, b) =>
    (a === "") - (b === "") || (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(b, lang))

  const sort = (table, header, direction) => {
    const [body] = table.tBodies
    const rows = [...body.rows].map(row => [value(row, header.cellIndex), row])
    rows.sort(([a], [b]) => (a === "" || b === "" ? compare(a, b) : direction * compare(a, b)))
    body.append(...rows.map(([, row]) => row))
  }

  for (const table of document.querySelectorAll("table[data-sortable]:not(.is-sortable)")) {
    table.classList.add("is-sortable")
    for (const header of table.tHead.rows[0].cells) {
      if (!header.textContent.trim()) continue
      const button = document.createElement("button")
      button.type = "button"
      button.title = ascending
      button.append(...header.childNodes)
      header.append(button)
      button.addEventListener("click", () => {
        const turn = header.ariaSort === "ascending"
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort")
        header.ariaSort = turn ? "descending" : "ascending"
        button.title = turn ? ascending : descending
        sort(table, header, turn ? -1 : 1)
      })
    }
  }
}
