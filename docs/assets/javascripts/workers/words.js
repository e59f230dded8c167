// Teaches Material's search about words. It runs in the search worker before Material's own script, whose name is the
// query of this address, and extends the lunr index that this one builds:
// - the parts of names: `_dynamo` and `inference_mode` are found by "dynamo" and "mode";
// - Chinese and Japanese: every part of a longer word, and queries without spaces;
// - Arabic: with and without article, vowel signs and attached prefixes, and with any form of alif;
// - other forms of a word: "recompile" finds "recompilations", and a singular its plural;
// - words that the index lacks: two that were joined ("breakeven"), or one with a letter wrong ("segfromer").
// What holds a name or a compound as the reader typed it comes before what only holds its parts.
{
  const CJK = "\u3040-\u30ff\u3400-\u9fff々"
  const RUN = new RegExp(`[${CJK}]+`, "g")
  const STARTS_CJK = new RegExp(`^[${CJK}]`), STARTS_ARABIC = /^[\u0621-\u06d3]/
  const HAN = /^[\u3400-\u9fff々]{2,12}$/, KATAKANA = /^[\u30a0-\u30ff]{2,24}$/
  const GRAMMAR = /^(?:[\u3040-\u309f]+|[的了和是在与为对把被也就都而及或这那于以之其由从到个上下中时])$/
  const LETTERS = "\u0621-\u0652\u0670-\u06d3"
  const ARABIC = new RegExp(`[${LETTERS}]+`, "g")
  const PREFIX = /^([وف]?)((?:[بك]?ال|لل|[بكل])?)(?=...)/
  const ARTICLE = /^[وف]?(?:[بك]?ال|لل)(?=..)/
  const ENDING = /(?<=...)(?:ات|[ةتا]|ت?[يوا]ن|ت[اي])?(?:هما|ها|هم|[هك])?$/ // plural, dual and possessive
  const LONG = /(?<=[\u30a1-\u30fa]{2})ー(?![\u30a0-\u30ff])/g // メモリー is メモリ
  const SPACED = new RegExp(`(?<=[${CJK}])\\s+|\\s+(?=[${CJK}])`, "g") // CPU 模式 is CPU模式
  const SETUP = 0, QUERY = 2, ANSWER = 3 // Material's message types
  const SAME = 8, KIN = 4 // how much more than a longer word the typed word counts, and another form of it
  const WHOLE = 20 // how much more a text counts that holds what was typed as a whole

  const remember = (make, made = new Map()) => key => made.get(key) ?? made.set(key, make(key)).get(key)

  // Spellings of an Arabic word: as in the index, without "and", and without preposition and article.
  const bare = word => word.replace(/[\u0640\u064b-\u0652\u0670]/g, "").replace(/[أإآٱ]/g, "ا").replace(/ى/g, "ي")
  const arabic = word => {
    const plain = bare(word)
    const [whole, and] = PREFIX.exec(plain) || ["", ""]
    return [...new Set([plain, plain.slice(and.length), plain.slice(whole.length)])]
  }

  // What the forms of a word have in common. Plurals that change within are listed, by the glossary.
  let plurals = new Map()
  const cut = word => bare(word).replace(ARTICLE, "").replace(ENDING, "")
  const stem = word => {
    if (!STARTS_ARABIC.test(word)) return lunr.stemmer(new lunr.Token(word, {})).toString()
    return plurals.get(cut(word)) || cut(word)
  }

  // The terms that find a word: lunr matches prefixes, so these are the word and its endings.
  const forms = remember(word => {
    if (STARTS_ARABIC.test(word)) return arabic(word)
    if (HAN.test(word) || KATAKANA.test(word)) return [...word].slice(1).map((_, at) => word.slice(at))
    return [word, ...Array.from(word.matchAll(/_+(?=[^_])/g), part => word.slice(part.index + part[0].length))]
  })

  let [weights, total] = [new Map(), 1] // frequencies of the prefixes of words in the index
  let kin = new Map() // stem → words of the index

  const weigh = index => {
    ;[weights, total, kin] = [new Map(), 1, new Map()]
    for (const [word, fields] of Object.entries(index)) {
      const occurs = Object.values(fields).reduce((sum, places) => sum + Object.keys(places).length, 0)
      total += occurs
      weights.set(word, occurs)
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
        const weight = weights.get(run.slice(start, end)) || (start === end - 1 && 1 / total)
        const cost = weight ? best[start].cost + Math.log(total / weight) : Infinity
        if (!(cost >= best[end]?.cost)) best[end] = { cost, start }
      }
    const words = []
    for (let end = run.length; end > 0; end = best[end].start) words.unshift(run.slice(best[end].start, end))
    const content = words.filter(word => !GRAMMAR.test(word))
    return content.length ? content : words
  }

  // Parts a word that the index lacks where two of its words meet.
  const parted = word => {
    if (weights.has(word) || kin.has(stem(word))) return word
    const halves = [...word].map((_, at) => [word.slice(0, at), word.slice(at)])
    return (halves.find(both => both.every(half => weights.get(half) >= 1)) || [word]).join(" ")
  }

  // Katakana for hiragana that the index lacks: もでる is モデル.
  const katakana = kana => {
    const other = kana.replace(/[^ー]/g, sign => String.fromCharCode(sign.charCodeAt() + 0x60)).replace(LONG, "")
    return weights.has(other) && !weights.has(kana) ? other : kana
  }

  // Text as it is compared with what was typed: without markup, and as prose without the endings of words.
  const normal = text => text.normalize("NFKC").toLowerCase().replace(LONG, "").replace(SPACED, "")
  const stemmed = remember(stem)
  const prose = text => text.replace(/[a-z]+/g, stemmed).replace(ARABIC, stemmed)
  const unmarked = html =>
    html
      .replace(/<\/?(?:code|su[bp])>|\u200b/g, "")
      .replace(/<[^>]*>/g, " ")
      .replace(/&(?:lt|gt|amp);/g, name => ({ "&lt;": "<", "&gt;": ">" })[name] || "&")

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
  let others = new Map() // typed word → other words of the index that it means

  const setup = ({ config, docs }) => {
    plurals = new Map((config.plurals || []).flatMap(([one, ...many]) => many.map(other => [cut(other), cut(one)])))
    const sections = new Map(docs.map(doc => [doc.location, doc]))
    written = remember(location => normal(unmarked(`${sections.get(location).title} ${sections.get(location).text}`)))
    said = remember(location => prose(written(location)))
    titled = remember(location => prose(normal(unmarked(sections.get(location).title))))
  }

  const query = text => {
    if (/[\u0600-\u06ff\u3040-\u9fff]/.test(text)) text = text.replace(/"/g, " ") // quotes would require every form
    text = normal(text).replace(/\b[a-z]{4,}\b/g, parted).replace(/[\u3041-\u3096ー]{2,}/g, katakana)
    const typed = text.replace(/"/g, " ").trim().replace(/\s+/g, " ")
    const names = typed.split(" ").filter(word => word !== typed && /[^\w\u0621-\u06d3]/.test(word))
    wholes = [...[typed, ...names].map(whole), location => titled(location) === prose(typed)]
    return text
      .replace(/[~^*:\\]/g, " ") // operators of lunr, which readers who paste `--flag` or `**kwargs` do not mean
      .replace(/(^|\s)[-+]+(?=\S)/g, "$1")
      .replace(RUN, run => ` ${pieces(run).join(" ")} `)
  }

  // The forms of a typed word in the index, or for an unknown one, words that differ in one letter.
  const related = (word, index) => {
    const same = [word, ...arabic(word)].flatMap(form => kin.get(stem(form)) || [])
    if (same.length || weights.has(word) || word.length < 4) return [...new Set(same)]
    return index.tokenSet.intersect(lunr.TokenSet.fromFuzzyString(word, 1)).toArray()
  }
  const means = (typed, word) => word.startsWith(bare(typed)) || others.get(typed)?.includes(word)

  // The page that a reader opens marks the typed words and their forms, as they are written there. Suggestions have the
  // spelling of the index, which is not that of Arabic.
  const answer = ({ items, suggest }) => {
    for (const { title, text, terms } of items.flat()) {
      const marks = Array.from(`${title} ${text}`.matchAll(/<mark>(.*?)<\/mark>/g), ([, mark]) => mark.toLowerCase())
      for (const typed of Object.keys(terms).filter(term => terms[term])) {
        const found = marks.filter(mark => forms(mark).some(form => means(typed, form)))
        if (found.length && !found.some(mark => mark.includes(typed))) delete terms[typed]
        for (const mark of found.filter(mark => !mark.includes(typed))) terms[mark] = true
      }
    }
    if (suggest?.some(word => STARTS_ARABIC.test(word))) suggest.length = 0
  }

  addEventListener("message", ({ data: message }) => {
    if (message.type === SETUP) setup(message.data)
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

  // Looks for each word as it was typed, for longer words, and for other forms. Material asks for `word*`.
  const expanded = (clause, index) => {
    if (!clause.term.endsWith("*") || STARTS_CJK.test(clause.term)) return clause
    const typed = clause.term.slice(0, -1), word = bare(typed)
    others.set(typed, related(word, index))
    const same = others.get(typed).map(term => ({ ...clause, term, boost: KIN }))
    const longer = same.length && STARTS_ARABIC.test(word) ? [] : [{ ...clause, term: `${word}*` }]
    return [{ ...clause, term: word, boost: SAME }, ...longer, ...same]
  }

  lunr.Index.prototype.search = function (text) {
    others = new Map()
    const results = this.query(query => {
      new lunr.QueryParser(text, query).parse()
      const content = query.clauses.filter(({ term }) => stopWordFilter(term.replace("*", "")))
      query.clauses = (content.length ? content : query.clauses).flatMap(clause => expanded(clause, this))
    })
    for (const result of results) {
      const { metadata } = result.matchData
      const found = Object.keys(metadata)
      result.score *= WHOLE ** wholes.filter(isHeld => isHeld(result.ref)).length
      markOnce(metadata)
      for (const typed of others.keys()) if (found.some(word => means(typed, word))) metadata[typed] ||= {}
    }
    return results
  }

  // Marks a word once, even if several of its forms match.
  const markOnce = metadata => {
    const marked = {}
    for (const fields of Object.values(metadata))
      for (const [field, found] of Object.entries(fields)) {
        const before = (marked[field] ||= new Set())
        found.position = found.position.filter(place => !before.has(place) && before.add(place))
      }
  }

  // Lunr's own version joins labels and numbers without a separator, so different nodes of its word tree look the same
  // if labels are digits, and a query that reaches them fails.
  lunr.TokenSet.prototype.toString = function () {
    const edges = Object.entries(this.edges).sort(([a], [b]) => (a < b ? -1 : 1))
    return (this._str ||= edges.reduce((text, [label, { id }]) => `${text} ${label}${id}`, this.final ? "1" : "0"))
  }
}
