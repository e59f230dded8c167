// The root 404 page holds a section for every language: leave the one that the address belongs to.
{
  const sections = [...document.querySelectorAll("section[data-prefix]")]
  const longest = (a, b) => b.dataset.prefix.length - a.dataset.prefix.length
  const shown = sections.sort(longest).find(section => location.pathname.startsWith(new URL(section.dataset.prefix, location).pathname))
  for (const section of sections) section.hidden = section !== (shown || sections.at(-1))
  document.documentElement.lang = (shown || sections.at(-1)).lang
}
