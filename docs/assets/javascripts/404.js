// The root 404 page has a section for every language: keep only the one of the address.
{
  const sections = [...document.querySelectorAll("section[data-prefix]")]
  const longest = (a, b) => b.dataset.prefix.length - a.dataset.prefix.length
  const shown = sections.sort(longest).find(section => location.pathname.startsWith(new URL(section.dataset.prefix, location).pathname))
  const own = shown || sections.at(-1)
  for (const section of sections) section.hidden = section !== own
  document.documentElement.lang = own.lang
  document.title = document.title.replace(/^.*(?= - )/, own.querySelector("h1").textContent)
}
