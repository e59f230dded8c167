// The matrix of the first page: shows the table of the chosen batch size and mode. It is in the content, where instant
// navigation runs it.
for (const form of document.querySelectorAll("[data-matrix] form[hidden]")) {
  const { batch, mode } = form.elements
  const shown = () => form.parentElement.querySelector(".table")
  const key = (size, name) => `${size} ${name}`
  const tables = new Map([[key(batch.value, mode.value), shown()]])
  for (const { content, dataset } of form.parentElement.querySelectorAll("template"))
    tables.set(key(dataset.batch, dataset.mode), content.firstElementChild)

  form.oninput = () => {
    for (const option of batch.options) option.disabled = !tables.has(key(option.value, mode.value))
    if (batch.selectedOptions[0].disabled) batch.value = [...batch.options].find(option => !option.disabled).value
    shown().replaceWith(tables.get(key(batch.value, mode.value)))
  }
  form.onsubmit = () => false
  form.hidden = false
  form.oninput()
}
