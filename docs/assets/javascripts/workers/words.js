// Teaches Material's search about words. It runs in the search worker before Material's own script, whose name is the
// query of this address, and extends the lunr index that this one builds:
// - the parts of names: `_dynamo` and `inference_mode` are found by "dynamo" and "mode";
// - Chinese and Japanese: every part of a longer word, and queries without spaces;
// - Arabic: with and without article, vowel signs and attached prefixes, and with any form of alif.
{
  const CJK = "\u3040-\u30ff\u3400-\u9fff々"
  const RUN = new RegExp(`[${CJK}]+`, "g")
  const HAN = /^[\u3400-\u9fff々]{2,12}$/, KATAKANA = /^[\u30a0-\u30ff]{2,24}$/
  const GRAMMAR = /^(?:[\u3040-\u309f]+|[的了和是在与为对把被也就都而及或这那于以之其由从到个上下中时])$/
  const ARABIC = /[\u0621-\u0652\u0670-\u06d3]+/g
  const PREFIX = /^([وف]?)((?:[بك]?ال|لل|[بكل])?)(?=...)/
  const QUERY = 2, ANSWER = 3 // Material's message types

  const remember = (make, made = new Map()) => key => made.get(key) || made.set(key, make(key)).get(key)

  // Spellings of an Arabic word: as in the index, without "and", and without preposition and article.
  const arabic = word => {
    const plain = word.replace(/[\u0640\u064b-\u0652\u0670]/g, "").replace(/[أإآٱ]/g, "ا").replace(/ى/g, "ي")
    const [whole, and] = PREFIX.exec(plain) || ["", ""]
    return [...new Set([plain, plain.slice(and.length), plain.slice(whole.length)])]
  }

  // The terms that find a word: lunr matches prefixes, so these are the word and its endings.
  const forms = remember(word => {
    if (/^[\u0621-\u06d3]/.test(word)) return arabic(word)
    if (HAN.test(word) || KATAKANA.test(word)) return [...word].slice(1).map((_, at) => word.slice(at))
    return [word, ...Array.from(word.matchAll(/_+(?=[^_])/g), part => word.slice(part.index + part[0].length))]
  })

  let [weights, total] = [new Map(), 1] // frequencies of the prefixes of Chinese and Japanese words in the index
  let typed = new Map() // search term → text that the reader typed

  const weigh = index => {
    const begins = new RegExp(`^[${CJK}]`)
    ;[weights, total] = [new Map(), 1]
    for (const word of Object.keys(index).filter(word => begins.test(word))) {
      const occurs = Object.values(index[word]).reduce((sum, places) => sum + Object.keys(places).length, 0)
      total += occurs
      weights.set(word, occurs)
      for (let end = 1; end < word.length; end++) weights.set(word.slice(0, end), weights.get(word.slice(0, end)) || 0.1)
    }
  }

  // Cuts text without spaces into the most likely words of the index. Particles alone find nothing.
  const pieces = run => {
    const best = [{ cost: 0 }]
    for (let end = 1; end <= run.length; end++)
      for (let start = Math.max(0, end - 12); start < end; start++) {
        const weight = weights.get(run.slice(start, end)) || (start === end - 1 && 1 / total)
        const cost = weight ? best[start].cost + Math.log(total / weight) : Infinity
        if (!(cost >= best[end]?.cost)) best[end] = { cost, start }
      }
    const words = []
    for (let end = run.length; end > 0; end = best[end].start) words.unshift(run.slice(best[end].start, end))
    const content = words.filter(word => !GRAMMAR.test(word))
    return content.length ? content : words
  }

  const query = text => {
    typed = new Map()
    if (/[\u0600-\u06ff\u3040-\u9fff]/.test(text)) text = text.replace(/"/g, " ") // quotes would require every form
    return text
      .normalize("NFKC")
      .replace(/[~^*:\\]/g, " ") // operators of lunr, which readers who paste `--flag` or `**kwargs` do not mean
      .replace(/(^|\s)[-+]+(?=\S)/g, "$1")
      .replace(RUN, run => ` ${pieces(run).join(" ")} `)
      .replace(ARABIC, word => {
        const looked = arabic(word).map(form => form.replace(/(?<=...)(?:[ةه]|ات|ها)$/, "")) // plural and possessive, too
        for (const form of looked) typed.set(form, word)
        return ` ${looked.join(" ")} `
      })
  }

  // A word matches where one of its forms does, and appears as the reader typed it.
  const answer = ({ items, suggest }) => {
    for (const { terms } of items.flat())
      for (const [form, word] of typed)
        if (form in terms) {
          const there = terms[form]
          delete terms[form]
          terms[word] ||= there
        }
    if (typed.size && suggest) suggest.length = 0 // suggestions have the spelling of the index
  }

  addEventListener("message", ({ data: message }) => {
    if (message.type === QUERY) message.data = query(message.data)
  })
  const post = self.postMessage.bind(self)
  self.postMessage = message => {
    if (message.type === ANSWER) answer(message.data)
    post(message)
  }

  importScripts(location.search.slice(1))

  const { stopWordFilter } = lunr
  lunr.stopWordFilter = token =>
    stopWordFilter(token) && (token.clone ? forms(token.toString()).map(form => token.clone(() => form)) : token)
  lunr.Pipeline.registerFunction(lunr.stopWordFilter, "words")

  const { build } = lunr.Builder.prototype
  lunr.Builder.prototype.build = function () {
    weigh(this.invertedIndex)
    const index = build.call(this)
    // Material would split Chinese again, at words that it tests with `in`, and lose the last character.
    index.invertedIndex = new Proxy(index.invertedIndex, { has: () => false })
    return index
  }

  // Marks a word once, even if several of its forms match.
  const { search } = lunr.Index.prototype
  lunr.Index.prototype.search = function (text) {
    const results = search.call(this, text)
    for (const { matchData } of results) {
      const marked = {}
      for (const fields of Object.values(matchData.metadata))
        for (const [field, found] of Object.entries(fields)) {
          const before = (marked[field] ||= new Set())
          found.position = found.position.filter(place => !before.has(place) && before.add(place))
        }
    }
    return results
  }

  // Lunr's own version joins labels and numbers without a separator, so different nodes of its word tree look the same
  // if labels are digits, and a query that reaches them fails.
  lunr.TokenSet.prototype.toString = function () {
    const edges = Object.entries(this.edges).sort(([a], [b]) => (a < b ? -1 : 1))
    return (this._str ||= edges.reduce((text, [label, { id }]) => `${text} ${label}${id}`, this.final ? "1" : "0"))
  }
}
