import type { Clock } from '@flotilla/protocol/clock'
import { memoryLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { factName, factsMax } from './fact.ts'
import type { Fact, NewFact } from './fact.ts'
import { createFactTable } from './fact-table.ts'
import type { FactTable, FactWrite } from './fact-table.ts'
import type { MemoryDatabase } from './memory-database.ts'
import { rankFacts } from './score-facts.ts'
import { leastTrusted } from './trust.ts'
import type { Trust } from './trust.ts'
import type { VectorIndex } from './vector-index.ts'

/** Number of best results of each search that are ranked together. */
const candidatesMax = 50

export interface SavedFact {
  readonly fact: Fact
  /** `known` if exactly the same text already existed. */
  readonly change: 'new' | 'replaced' | 'known'
  /** A fact that was removed because the memory is full. */
  readonly gaveWay: Fact | null
}

export interface FoundFact extends Fact {
  readonly score: number
}

export interface FactQuestion {
  readonly text: string
  /** Null searches by words only. */
  readonly vector: Float32Array | null
  readonly category: string | null
  readonly maxResults: number
  /** The run that searches; its hits are reinforced, once for each run. */
  readonly runId: string
}

/** A page of all facts, newest first. */
export interface FactPage {
  /** Words that the facts must contain; empty for all. */
  readonly words: string
  /** Only facts with a smaller id; null for the first page. */
  readonly before: number | null
  readonly limit: number
}

export interface ListedFacts {
  readonly facts: readonly Fact[]
  /** Number of facts in the whole memory. */
  readonly total: number
  /** Whether older matching ones exist. */
  readonly more: boolean
}

/**
 * What an agent remembers.
 *
 * - **M1** One key, one fact: saving under a known key replaces the fact, whatever other facts are similar.
 * - **M2** The same text without a key is one fact. Texts that are merely similar stay separate: vector
 *   similarity cannot distinguish port 8080 from port 8081.
 * - **M3** Text that strangers can write never replaces the owner's text, nor deletes it.
 * - **M4** Text is sanitized when it is saved and when it is read.
 */
export interface MemoryStore {
  /** Saves a fact. Problems: `unprocessable` for no visible text, `body-too-large`, `denied` by M3. */
  save(fact: NewFact): SavedFact
  /** Deletes the fact with this id or key, and returns it. Problems `not-found`, `denied` by M3. */
  forget(which: { id: number } | { key: string }, by: Trust): Fact
  search(question: FactQuestion): readonly FoundFact[]
  list(page: FactPage): ListedFacts
  categories(): readonly string[]
  count(): number
}

export function createMemoryStore(deps: {
  database: MemoryDatabase
  /** Null if no model makes vectors, or the extension is missing. */
  vectors: VectorIndex | null
  clock: Clock
  maxFacts?: number
}): MemoryStore {
  const { database, vectors, clock, maxFacts = factsMax } = deps
  const table = createFactTable(database)

  const remove = (fact: Fact): Fact => {
    table.remove(fact.id)
    vectors?.remove(fact.id)
    return fact
  }
  const makeRoom = (): Fact | null => {
    if (table.count() < maxFacts) return null
    const weakest = table.leastUsed()
    const fact = weakest === null ? null : table.find(weakest)
    if (fact === null) {
      throw new Problem('unprocessable', {
        detail: `The memory has ${maxFacts} facts from the owner, the maximum; delete some first with memory_forget.`,
      })
    }
    return remove(fact)
  }
  const put = (fact: FactWrite): Omit<SavedFact, 'fact'> & { id: number } => {
    const known = knownFact(table, fact)
    if (known === null) {
      const gaveWay = makeRoom()
      return { id: table.insert(fact), change: 'new', gaveWay }
    }
    const sameText = known.text === fact.text
    // Saving the same text changes nothing except that it may now have a more trusted source.
    if (
      sameText &&
      (fact.key === null || fact.key === known.key) &&
      !isBetter(fact.from.trust, known.trust)
    ) {
      table.markUsed([known.id], fact.from.source.runId, fact.now)
      return { id: known.id, change: 'known', gaveWay: null }
    }
    if (!sameText) requireMayChange(known, fact.from.trust)
    // A key that is added to a known text does not change its source.
    const { source, trust } = known
    const from = sameText && !isBetter(fact.from.trust, trust) ? { source, trust } : fact.from
    table.replace(known.id, { ...fact, from, key: fact.key ?? known.key })
    if (!sameText) vectors?.remove(known.id)
    return { id: known.id, change: sameText ? 'known' : 'replaced', gaveWay: null }
  }
  return {
    save: (fact) => {
      const write = { ...cleanFact(fact), from: fact, now: clock.now() }
      return database.transaction(() => {
        const { id, ...rest } = put(write)
        return { fact: requireFact(table.find(id)), ...rest }
      })
    },
    forget: (which, by) =>
      database.transaction(() => {
        const fact = requireFact(
          'id' in which ? table.find(which.id) : table.byKey(sanitizeForPrompt(which.key).trim()),
        )
        requireMayChange(fact, by)
        return remove(fact)
      }),
    search: (question) => {
      const { runId, maxResults } = question
      const now = clock.now()
      const background = question.vector === null ? 0 : (vectors?.background(question.vector) ?? 0)
      const best = rankFacts(candidatesOf(table, vectors, question), { now, background }).slice(0, maxResults)
      const ids = best.map(({ factId }) => factId)
      const facts = new Map(table.all(ids).map((fact) => [fact.id, fact]))
      if (ids.length > 0) table.markUsed(ids, runId, now)
      return best.flatMap(({ factId, score }) => {
        const fact = facts.get(factId)
        return fact === undefined ? [] : [{ ...fact, score }]
      })
    },
    list: (page) => {
      const found = table.newest({ ...page, limit: page.limit + 1 })
      const facts = found.slice(0, page.limit)
      return { facts, total: table.count(), more: found.length > facts.length }
    },
    categories: () => table.categories(),
    count: () => table.count(),
  }
}

/** The fact that a save concerns: by its key, else by its text (M1, M2). */
function knownFact(table: FactTable, fact: FactWrite): Fact | null {
  const byKey = fact.key === null ? null : table.byKey(fact.key)
  if (byKey !== null) return byKey
  const sameText = table.byText(fact.text)
  if (sameText === null || fact.key === null) return sameText
  // A fact with its own key is separate even with the same text, and a stranger's key is never added to the
  // owner's text (M3).
  return sameText.key === null && mayChange(sameText, fact.from.trust) ? sameText : null
}

const none: ReadonlyMap<number, number> = new Map()

function candidatesOf(table: FactTable, vectors: VectorIndex | null, question: FactQuestion) {
  const options = { category: question.category, limit: candidatesMax }
  const keywordScores = table.byWords(question.text, options)
  const near = question.vector === null ? none : (vectors?.nearest(question.vector, options) ?? none)
  const others = [...keywordScores.keys()].filter((id) => !near.has(id))
  const rest = question.vector === null ? none : (vectors?.cosines(question.vector, others) ?? none)
  const ids = [...new Set([...near.keys(), ...keywordScores.keys()])]
  const uses = table.uses(ids)
  return ids.flatMap((factId) => {
    const use = uses.get(factId)
    const cosine = near.get(factId) ?? rest.get(factId) ?? null
    return use === undefined ? [] : [{ factId, cosine, words: keywordScores.get(factId) ?? null, ...use }]
  })
}

function cleanFact(fact: NewFact): { text: string; key: string | null; category: string } {
  const text = sanitizeForPrompt(fact.text).trim()
  const key = sanitizeForPrompt(fact.key ?? '').trim()
  const category = sanitizeForPrompt(fact.category ?? '')
    .trim()
    .toLowerCase()
  if (text === '') throw new Problem('unprocessable', { detail: 'The fact has no visible text.' })
  const { factTextMaxChars, factKeyMaxChars, factCategoryMaxChars } = memoryLimits
  const tooLong =
    text.length > factTextMaxChars || key.length > factKeyMaxChars || category.length > factCategoryMaxChars
  if (tooLong) {
    throw new Problem('body-too-large', {
      detail: `A fact has at most ${factTextMaxChars} characters, its key ${factKeyMaxChars}, its category ${factCategoryMaxChars}; write the fact shorter, or save the text in a file and remember its path.`,
    })
  }
  return { text, key: key === '' ? null : key, category: category === '' ? 'general' : category }
}

function isBetter(trust: Trust, than: Trust): boolean {
  return trust !== than && leastTrusted([trust, than]) === than
}

/** M3. */
function mayChange(fact: Fact, by: Trust): boolean {
  return fact.trust !== 'owner' || by !== 'outside'
}

function requireMayChange(fact: Fact, by: Trust): void {
  if (mayChange(fact, by)) return
  throw new Problem('denied', {
    detail: `${fact.key ?? factName(fact.id)} was saved from words of the owner. This conversation has read text from outside, so it may not change that fact. Save under another key, or ask the owner to state the change in a new conversation.`,
  })
}

function requireFact(fact: Fact | null): Fact {
  if (fact !== null) return fact
  throw new Problem('not-found', { detail: 'No fact has this id or key; memory_search shows ids and keys.' })
}
