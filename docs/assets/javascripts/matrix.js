// The matrix of the first page: shows the table of the chosen workload, batch size and mode. It is in the content, where
// instant navigation runs it.
for (const form of document.querySelectorAll("[data-matrix] form[hidden]")) {
  const { workload, latency, batch, mode } = form.elements
  const shown = () => form.parentElement.querySelector("[data-view]")
  const others = form.parentElement.querySelectorAll("template")
  const all = [shown(), ...[...others].map(each => each.content.firstElementChild)]
  const views = new Map(all.map(view => [view.dataset.view, view]))

  form.oninput = () => {
    latency.hidden = workload?.value === "throughput"
    for (const option of batch.options) option.disabled = !views.has(`${option.value} ${mode.value}`)
    if (batch.selectedOptions[0].disabled) batch.value = [...batch.options].find(option => !option.disabled).value
    shown().replaceWith(views.get(latency.hidden ? "throughput" : `${batch.value} ${mode.value}`))
  }
  form.onsubmit = () => false
  form.hidden = false
  form.oninput()
}
