// An address that ends in the id of a tab opens it.
{
  const tab = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (tab?.name?.startsWith("__tabbed_")) tab.checked = true
}
