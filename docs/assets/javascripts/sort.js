// Sorts `table[data-sortable]` by the column whose header is clicked; a second click reverses the order.
// A cell sorts by `data-sort` (a number, empty without a value), else by its text. Cells without a value come last.
{
  const { ascending, descending } = document.currentScript.dataset
  const { lang } = document.documentElement

  const value = cell => {
    const text = cell.dataset.sort ?? cell.textContent.trim()
    return text === "" || isNaN(text) ? text : Number(text)
  }
  const compare = (a, b) => a - b || String(a).localeCompare(b, lang) // the former is not a number for texts

  const sort = (body, column, direction) => {
    const rows = [...body.rows].map(row => [value(row.cells[column]), row])
    rows.sort(([a], [b]) => (a === "") - (b === "") || direction * compare(a, b))
    body.append(...rows.map(([, row]) => row))
  }

  for (const table of document.querySelectorAll("table[data-sortable]:not(.is-sortable)")) {
    table.classList.add("is-sortable")
    const headers = [...table.tHead.rows[0].cells].filter(header => header.textContent.trim())
    for (const header of headers) {
      const button = Object.assign(document.createElement("button"), { type: "button", title: ascending })
      button.append(...header.childNodes)
      header.append(button)
      button.onclick = () => {
        const turn = header.ariaSort === "ascending"
        for (const other of headers) other.ariaSort = null
        header.ariaSort = turn ? "descending" : "ascending"
        button.title = turn ? ascending : descending
        sort(table.tBodies[0], header.cellIndex, turn ? -1 : 1)
      }
    }
  }
}
