// Teaches Material's search about words. It runs in the search worker before Material's own script, whose name is the
// query of this address, and extends the lunr index that this one builds:
// - the parts of names: `_dynamo` and `inference_mode` are found by "dynamo" and "mode";
// - Chinese and Japanese: every part of a longer word, and queries without spaces;
// - Arabic: with and without article, vowel signs and attached prefixes, and with any form of alif;
// - other forms of a word: "recompile" finds "recompilations", and a singular its plural;
// - words with a letter wrong ("segfromer").
// Text that holds the query as the reader typed it comes before text that only holds its parts.
{
  const CJK = "\u3040-\u30ff\u3400-\u9fff々"
  const LETTERS = "\u0621-\u0652\u0670-\u06d3"
  const STARTS_CJK = new RegExp(`^[${CJK}]`)
  const STARTS_ARABIC = /^[\u0621-\u06d3]/
  const ONE_WORD = /^(?:[\u3400-\u9fff々]{2,12}|[\u30a0-\u30ff]{2,24})$/
  const GRAMMAR = /^(?:[\u3040-\u309f]+|[的了和是在与为对把被也就都而及或这那于以之其由从到个上下中时])$/
  const PREFIX = /^([وف]?)((?:[بك]?ال|لل|[بكل])?)(?=...)/
  const ARTICLE = /^[وف]?(?:[بك]?ال|لل)(?=..)/
  const ENDING = /(?<=...)(?:ات|[ةتا]|ت?[يوا]ن|ت[اي])?(?:هما|ها|هم|[هك])?$/ // plural, dual and possessive
  const LONG = /(?<=[\u30a1-\u30fa]{2})ー(?![\u30a0-\u30ff])/g // メモリー is メモリ
  const SPACED = new RegExp(`(?<=[${CJK}])\\s+|\\s+(?=[${CJK}])`, "g") // CPU 模式 is CPU模式
  const SETUP = 0, QUERY = 2 // Material's message types
  const SAME = 8, KIN = 4 // how much more than a longer word the typed word counts, and another form of it
  const WHOLE = 20 // how much more a text counts that holds what was typed as a whole

  const remember = (make, made = new Map()) => key => made.get(key) ?? made.set(key, make(key)).get(key)

  // What the forms of a word have in common. Plurals that change within are listed, by the glossary.
  let plurals = new Map()
  const bare = word => word.replace(/[\u0640\u064b-\u0652\u0670]/g, "").replace(/[أإآٱ]/g, "ا").replace(/ى/g, "ي")
  const cut = word => bare(word).replace(ARTICLE, "").replace(ENDING, "")
  const stem = word => {
    if (!STARTS_ARABIC.test(word)) return lunr.stemmer(new lunr.Token(word, {})).toString()
    return plurals.get(cut(word)) || cut(word)
  }

  // The terms that find a word: lunr matches prefixes, so these are the word and its endings; in Arabic, the word
  // without "and", and without preposition and article.
  const forms = remember(word => {
    if (STARTS_ARABIC.test(word)) {
      const [whole, and] = PREFIX.exec(bare(word)) || ["", ""]
      return [...new Set([0, and.length, whole.length].map(length => bare(word).slice(length)))]
    }
    if (ONE_WORD.test(word)) return [...word].slice(1).map((_, at) => word.slice(at))
    return [word, ...Array.from(word.matchAll(/_+(?=[^_])/g), part => word.slice(part.index + part[0].length))]
  })

  let weights = new Map() // frequencies of the words of the index, and less for their beginnings
  let kin = new Map() // stem → words of the index
  const weigh = index => {
    weights = new Map()
    kin = new Map()
    for (const [word, fields] of Object.entries(index)) {
      weights.set(word, Object.values(fields).reduce((sum, places) => sum + Object.keys(places).length, 0))
      for (let end = 1; end < word.length; end++) weights.set(word.slice(0, end), weights.get(word.slice(0, end)) || 0.1)
      const root = stem(word.replace(/(?<=.)_.*/, ""))
      kin.set(root, [...(kin.get(root) || []), word])
    }
  }

  // Cuts text without spaces into the most likely words of the index. Particles alone find nothing.
  const pieces = run => {
    const best = [{ cost: 0 }]
    for (let end = 1; end <= run.length; end++)
      for (let start = Math.max(0, end - 12); start < end; start++) {
        const weight = weights.get(run.slice(start, end)) || (start === end - 1 && 1e-6)
        const cost = weight ? best[start].cost + Math.log(1e6 / weight) : Infinity
        if (!(cost >= best[end]?.cost)) best[end] = { cost, start }
      }
    const words = []
    for (let end = run.length; end > 0; end = best[end].start) words.unshift(run.slice(best[end].start, end))
    const content = words.filter(word => !GRAMMAR.test(word))
    return content.length ? content : words
  }

  // Text as it is compared with what was typed: without markup, and as prose without the endings of words.
  const stemmed = remember(stem)
  const normal = text => text.normalize("NFKC").toLowerCase().replace(LONG, "").replace(SPACED, "")
  const prose = text => text.replace(new RegExp(`[a-z]+|[${LETTERS}]+`, "g"), stemmed)
  const unmarked = html => html.replace(/<\/?(?:code|su[bp])>|\u200b/g, "").replace(/<[^>]*>|&\w+;/g, " ")

  // Whether a section holds a text as a whole: not within a longer name, but after attached Arabic prefixes. What has
  // signs is code, whose words have no other endings: `.item()` is not `.items()`.
  const whole = text => {
    const isCode = /[^\w\s\u00a0-\uffff-]/.test(text)
    const begin = STARTS_ARABIC.test(text) ? `(?<![${LETTERS}])[وفبكل]{0,2}` : "(?<![\\w)\\]-])"
    const end = /[\w\u0621-\u06d3]$/.test(text) ? `(?![\\w${LETTERS}-])` : ""
    const literal = (isCode ? text : prose(text)).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/ /g, "[ _-]?")
    const pattern = new RegExp((STARTS_CJK.test(text) ? "" : begin) + literal + end)
    return location => pattern.test(isCode ? written(location) : said(location))
  }

  let [written, said, titled] = [] // what a section has as code and as prose, and its title, by location
  let wholes = [] // whether a location holds the query and each of its words, as the reader typed them

  addEventListener("message", ({ data: { type, data }, data: message }) => {
    if (type === SETUP) {
      plurals = new Map(data.config.plurals.flatMap(([one, ...many]) => many.map(other => [cut(other), cut(one)])))
      const sections = new Map(data.docs.map(doc => [doc.location, doc]))
      written = remember(at => normal(unmarked(`${sections.get(at).title} ${sections.get(at).text}`)))
      said = remember(at => prose(written(at)))
      titled = remember(at => prose(normal(unmarked(sections.get(at).title))))
    }
    if (type === QUERY) {
      const typed = normal(data).replace(/"/g, " ").trim().replace(/\s+/g, " ")
      const names = typed.split(" ").filter(word => word !== typed && /[^\w\u0621-\u06d3]/.test(word))
      wholes = [...[typed, ...names].map(whole), at => titled(at) === prose(typed)]
      message.data = typed
        .replace(/[~^*:\\]|(?<=^|\s)[-+]+(?=\S)/g, " ") // operators of lunr, which readers who paste `--flag` don't mean
        .replace(new RegExp(`[${CJK}]+`, "g"), run => ` ${pieces(run).join(" ")} `)
    }
  })

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

  // Looks for each word as it was typed, for longer words, and for its forms in the index; for an unknown word, for
  // those that differ in one letter. Material asks for `word*`.
  const expanded = (clause, index) => {
    if (!clause.term.endsWith("*") || STARTS_CJK.test(clause.term)) return clause
    const word = bare(clause.term.slice(0, -1))
    let same = [word, ...forms(word)].flatMap(form => kin.get(stem(form)) || [])
    if (!same.length && !weights.has(word) && word.length > 3)
      same = index.tokenSet.intersect(lunr.TokenSet.fromFuzzyString(word, 1)).toArray()
    const longer = same.length && STARTS_ARABIC.test(word) ? [] : [{ ...clause, term: `${word}*` }]
    const others = [...new Set(same)].map(term => ({ ...clause, term, boost: KIN }))
    return [{ ...clause, term: word, boost: SAME }, ...longer, ...others]
  }

  lunr.Index.prototype.search = function (text) {
    const results = this.query(query => {
      new lunr.QueryParser(text, query).parse()
      const content = query.clauses.filter(({ term }) => stopWordFilter(term.replace("*", "")))
      query.clauses = (content.length ? content : query.clauses).flatMap(clause => expanded(clause, this))
    })
    for (const result of results) result.score *= WHOLE ** wholes.filter(isHeld => isHeld(result.ref)).length
    return results
  }

  // Lunr's own version joins labels and numbers without a separator, so different nodes of its word tree look the same
  // if labels are digits, and a query that reaches them fails.
  lunr.TokenSet.prototype.toString = function () {
    const edges = Object.entries(this.edges).sort(([a], [b]) => (a < b ? -1 : 1))
    return (this._str ||= edges.reduce((text, [label, { id }]) => `${text} ${label}${id}`, this.final ? "1" : "0"))
  }
}
