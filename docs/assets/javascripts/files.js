// Returns a function that loads a file of data and reads it, once. A failed attempt is forgotten, so that the next one
// tries again.
export const loader = () => {
  const files = new Map()
  return (url, read = data => data) => {
    if (!files.has(url)) files.set(url, fetch(url).then(response => response.json()).then(read)) // fails on a 404 page
    files.get(url).catch(() => files.delete(url))
    return files.get(url)
  }
}
