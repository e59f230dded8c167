// Teaches Material's search about words. It runs in the search worker before Material's own script, whose name is the
// query of this address, and extends the lunr index that this one builds: it finds parts of names (`_dynamo`), of
// Chinese and Japanese words, Arabic words without article and vowel signs, and other forms of a word. Text that holds
// the query as the reader typed it comes before text that only holds its words.
{
  const CJK = /[\u3040-\u30ff\u3400-\u9fff々]/
  const STARTS = /^|(?<=_)[^_]|[\u3040-\u30ff\u3400-\u9fff々]/g // of words, and of parts of words
  const ARTICLE = /^[وف]?(?:[بك]?ال|لل)(?=..)/
  const ENDING = /(?<=...)(?:ات|[ةته]|ت?[يوا]ن|ت[اي])?(?:هما|ها|هم|[هك])?$/ // plural, dual and possessive
  const SETUP = 0, QUERY = 2 // Material's message types
  const KIN = 4 // how much more the forms of a typed word count than longer words
  const WHOLE = 20 // how much more a text counts that holds what was typed as a whole
  const remember = (make, made = new Map()) => key => made.get(key) ?? made.set(key, make(key)).get(key)

  // Lower case, full width as half, and without Arabic vowel signs and hamza.
  const normal = text =>
    text.normalize("NFKD").replace(/[\u0640\u064b-\u0655\u0670\u200b]/g, "").normalize("NFC").toLowerCase()

  // What the forms of a word have in common; in Arabic, where plurals change within, its consonants.
  const stem = remember(word => {
    if (!/^[\u0621-\u06d3]/.test(word)) return lunr.stemmer(new lunr.Token(word, {})).toString()
    const root = word.replace(ARTICLE, "").replace(ENDING, "")
    const consonants = root.replace(/[اويىء]/g, "")
    return consonants.length > 1 ? consonants : root
  })

  const kin = new Map() // stem → words of the index
  const known = new Set() // beginnings of words of the index

  // The terms that find a word of the index: lunr matches prefixes, so these are the word and its endings.
  const terms = remember(token => {
    const word = normal(token).replace(ARTICLE, "")
    const endings = Array.from(word.matchAll(STARTS), ({ index }) => word.slice(index))
    for (const ending of endings) {
      kin.set(stem(ending), (kin.get(stem(ending)) || new Set()).add(ending))
      for (let end = 1; end <= ending.length; end++) known.add(ending.slice(0, end))
    }
    return endings
  })

  // The words of a query. Text without spaces is cut into the longest words that the index has.
  const cut = run => {
    let end = run.length
    while (CJK.test(run) && end > 1 && !known.has(run.slice(0, end))) end--
    return run ? [run.slice(0, end).replace(ARTICLE, ""), ...cut(run.slice(end))] : []
  }
  const words = query => {
    const all = query.split(lunr.tokenizer.separator).flatMap(cut)
    const content = all.filter(word => lunr.stopWordFilter(word) && /[^\u3040-\u309f]/.test(word)) // no particles
    return content.length ? content : all
  }

  // Text as it is compared with what was typed: without markup and hyphens, and without endings except in code.
  const prose = html =>
    normal(html.replace(/<[^>]*>|&\w+;/g, " "))
      .replace(/[a-z]+(?![a-z]*\()|[\u0621-\u06d3]+/g, stem)
      .replace(/[\s_-]+|(?<=\w)(?=[\u3040-\u9fff])|(?<=[\u3040-\u9fff])(?=\w)/g, " ").trim()

  let [typed, sections] = [] // the query, and all sections by their locations
  const title = at => prose(sections.get(at).title)
  const text = remember(at => ` ${title(at)} ${prose(sections.get(at).text)}`)

  addEventListener("message", ({ data: message }) => {
    if (message.type === SETUP) sections = new Map(message.data.docs.map(doc => [doc.location, doc]))
    if (message.type !== QUERY) return
    typed = normal(message.data)
    message.data = { replace: () => words(typed).join(" ") } // Material would replace Chinese words by parts of them
  })

  importScripts(location.search.slice(1))

  const { stopWordFilter } = lunr
  lunr.stopWordFilter = token =>
    stopWordFilter(token) && (token.clone ? terms(token.toString()).map(term => token.clone(() => term)) : token)
  lunr.Pipeline.registerFunction(lunr.stopWordFilter, "words")

  // Lunr's own version joins labels and ids without a separator, so different nodes of its word tree look the same if
  // labels are digits, and a query that reaches them fails.
  lunr.TokenSet.prototype.toString = function () {
    return (this._str ||= this.final + Object.keys(this.edges).sort().map(label => label + this.edges[label].id))
  }

  // Looks for longer words and for the forms of each word; if nothing is found, for words that differ in one letter.
  lunr.Index.prototype.search = function () {
    const found = clauses => this.query(query => words(typed).flatMap(clauses).forEach(clause => query.clause(clause)))
    const forms = word => Array.from(kin.get(stem(word)) || [], term => ({ term, boost: KIN }))
    const results = found(word => [{ term: `${word}*` }, ...forms(word)])
    const asked = prose(typed)
    const whole = CJK.test(asked[0]) ? asked : ` ${asked}` // from the beginning of a word
    for (const result of results) {
      if (text(result.ref).includes(whole)) result.score *= WHOLE
      if (title(result.ref) === asked) result.score *= WHOLE
      const marked = new Set() // a place that several terms match is marked once
      for (const fields of Object.values(result.matchData.metadata))
        for (const [field, { position }] of Object.entries(fields))
          fields[field].position = position.filter(at => !marked.has(field + at) && marked.add(field + at))
    }
    return results.length ? results : found(term => ({ term, editDistance: 1 }))
  }
}
