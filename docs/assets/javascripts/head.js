// Sets up what Material's script expects, and applies the chosen colours before the first paint. Runs in the head.
window.__md_scope = new URL(document.currentScript.dataset.scope, location)

// A browser that blocks storage for this site throws on access.
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

// Material's script sets this when it loads. Setting it now reserves the place of its controls in the header.
document.documentElement.classList.replace("no-js", "js")

// Applies the reader's choice, else the system's, as soon as there is a body, so that no dark page flashes light.
{
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? { scheme: "slate" } : {}
  const colors = __md_get("__palette")?.color || system
  new MutationObserver((_, observer) => {
    if (!document.body) return
    observer.disconnect()
    for (const [name, value] of Object.entries(colors)) document.body.setAttribute(`data-md-color-${name}`, value)
  }).observe(document.documentElement, { childList: true })
}
