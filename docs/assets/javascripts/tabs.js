// Opens the tab whose id is in the address.
{
  const tab = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (tab?.name?.startsWith("__tabbed_")) tab.checked = true
}
