// What Material's script expects to find, and the chosen colours before anything is shown. Runs in the head of a page.
window.__md_scope = new URL(document.currentScript.dataset.scope, location)

// A browser that keeps nothing for this site refuses even to be asked.
window.__md_get = (key, storage, scope = __md_scope) => {
  try {
    return JSON.parse((storage || localStorage).getItem(`${scope.pathname}.${key}`))
  } catch {
    return null
  }
}

window.__md_set = (key, value, storage, scope = __md_scope) => {
  try {
    (storage || localStorage).setItem(`${scope.pathname}.${key}`, JSON.stringify(value))
  } catch {}
}

// Material's script says so when it has come: what needs it would only then get its place in the header.
document.documentElement.classList.replace("no-js", "js")

// The reader's choice, else that of their system, as soon as there is a body: no page is light first and dark then.
{
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? { scheme: "slate" } : {}
  const colors = __md_get("__palette")?.color || system
  new MutationObserver((_, observer) => {
    if (!document.body) return
    observer.disconnect()
    for (const [name, value] of Object.entries(colors)) document.body.setAttribute(`data-md-color-${name}`, value)
  }).observe(document.documentElement, { childList: true })
}
