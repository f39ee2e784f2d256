import { memoryLimits } from '@flotilla/protocol/limits'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Fact, NewFact } from './fact.ts'
import type { MemoryDatabase } from './memory-database.ts'
import type { FactUse } from './score-facts.ts'
import { foldText, searchExpression } from './search-query.ts'
import { isTrust } from './trust.ts'

const {
  factTextMaxChars,
  factKeyMaxChars,
  factCategoryMaxChars,
  sourceWordMaxChars,
  sourceUrlsMax,
  sourceUrlMaxChars,
} = memoryLimits

type Row = Readonly<Record<string, unknown>>

export interface FactWrite {
  readonly text: string
  readonly key: string | null
  readonly category: string
  readonly from: Pick<NewFact, 'source' | 'trust'>
  readonly now: number
}

/** Rows of facts and their words. The caller opens the transaction. */
export interface FactTable {
  find(id: number): Fact | null
  byKey(key: string): Fact | null
  byText(text: string): Fact | null
  all(ids: readonly number[]): readonly Fact[]
  insert(fact: FactWrite): number
  /** Deletes the vector too if the text changed. */
  replace(id: number, fact: FactWrite): void
  remove(id: number): void
  /** Counts once for each run. */
  markUsed(ids: readonly number[], runId: string, now: number): void
  count(): number
  /** The fact of the lowest worth, which a new one may replace. */
  leastUsed(): number | null
  categories(): readonly string[]
  /** Facts with an id below `before`, if given, and with the words, if given. */
  newest(page: { words: string; before: number | null; limit: number }): readonly Fact[]
  byWords(question: string, options: { category: string | null; limit: number }): ReadonlyMap<number, number>
  uses(ids: readonly number[]): ReadonlyMap<number, FactUse>
}

const idsIn = 'id IN (SELECT value FROM json_each(?))'
const sourceColumns = 'trust, run_id, tool, origin, channel, urls'

export function createFactTable(database: MemoryDatabase): FactTable {
  const { prepare, write } = database
  const one = (row: Row | undefined): Fact | null => (row === undefined ? null : factOf(row))
  const index = (id: number, { key, category, text }: FactWrite): void => {
    write(
      'INSERT INTO fact_words (rowid, words) VALUES (?, ?)',
      id,
      foldText(`${key ?? ''} ${category} ${text}`),
    )
  }
  return {
    find: (id) => one(prepare('SELECT * FROM facts WHERE id = ?').get(id)),
    byKey: (key) => one(prepare('SELECT * FROM facts WHERE key = ?').get(key)),
    byText: (text) =>
      one(prepare('SELECT * FROM facts WHERE text = ? ORDER BY key IS NULL, id LIMIT 1').get(text)),
    all: (ids) => prepare(`SELECT * FROM facts WHERE ${idsIn}`).all(JSON.stringify(ids)).map(factOf),
    insert: (fact) => {
      const { insertedId } = write(
        `INSERT INTO facts (key, text, category, ${sourceColumns}, created_at, last_used_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        fact.key,
        fact.text,
        fact.category,
        ...sourceValues(fact),
        fact.now,
        fact.now,
      )
      index(insertedId, fact)
      return insertedId
    },
    replace: (id, fact) => {
      write(
        `UPDATE facts SET key = ?, embedded = embedded AND text = ?, embed_failures = 0, text = ?, category = ?,
           (${sourceColumns}, last_used_at) = (?, ?, ?, ?, ?, ?, ?) WHERE id = ?`,
        fact.key,
        fact.text,
        fact.text,
        fact.category,
        ...sourceValues(fact),
        fact.now,
        id,
      )
      write('DELETE FROM fact_words WHERE rowid = ?', id)
      index(id, fact)
    },
    remove: (id) => {
      write('DELETE FROM facts WHERE id = ?', id)
      write('DELETE FROM fact_words WHERE rowid = ?', id)
    },
    markUsed: (ids, runId, now) => {
      write(
        `UPDATE facts SET use_count = use_count + 1, last_used_at = ?, last_used_by = ?
         WHERE ${idsIn} AND last_used_by IS NOT ?`,
        now,
        runId,
        JSON.stringify(ids),
        runId,
      )
    },
    count: () => Number(prepare('SELECT count(*) AS n FROM facts').get()?.['n'] ?? 0),
    leastUsed: () => {
      const row = prepare(
        "SELECT id FROM facts WHERE trust <> 'owner' ORDER BY last_used_at, use_count, id LIMIT 1",
      ).get()
      return row === undefined ? null : Number(row['id'])
    },
    categories: () =>
      prepare('SELECT category FROM facts GROUP BY category ORDER BY count(*) DESC LIMIT 20')
        .all()
        .map((row) => sanitizeForPrompt(row['category'])),
    newest: ({ words, before, limit }) => {
      const below = before ?? Number.MAX_SAFE_INTEGER
      const expression = searchExpression(words)
      if (expression !== null) {
        return prepare(
          `SELECT * FROM facts WHERE id < ? AND id IN (SELECT rowid FROM fact_words WHERE fact_words MATCH ?)
             ORDER BY id DESC LIMIT ?`,
        )
          .all(below, expression, limit)
          .map(factOf)
      }
      // Text without any searchable word matches no fact.
      if (words.trim() !== '') return []
      return prepare('SELECT * FROM facts WHERE id < ? ORDER BY id DESC LIMIT ?')
        .all(below, limit)
        .map(factOf)
    },
    byWords: (question, { category, limit }) => {
      const expression = searchExpression(question)
      if (expression === null) return new Map()
      const rows =
        category === null
          ? prepare(
              'SELECT rowid AS id, rank FROM fact_words WHERE fact_words MATCH ? ORDER BY rank LIMIT ?',
            ).all(expression, limit)
          : prepare(
              `SELECT rowid AS id, rank FROM fact_words WHERE fact_words MATCH ?
                 AND rowid IN (SELECT id FROM facts WHERE category = ?) ORDER BY rank LIMIT ?`,
            ).all(expression, category, limit)
      // The rank is negative; lower is better.
      return new Map(rows.map((row) => [Number(row['id']), -Number(row['rank'])]))
    },
    uses: (ids) =>
      new Map(
        prepare(`SELECT id, last_used_at, use_count FROM facts WHERE ${idsIn}`)
          .all(JSON.stringify(ids))
          .map((row) => [
            Number(row['id']),
            { lastUsedAt: Number(row['last_used_at']), useCount: Number(row['use_count']) },
          ]),
      ),
  }
}

function sourceValues({ from: { source, trust } }: FactWrite) {
  const urls = JSON.stringify(source.urls.slice(-sourceUrlsMax))
  return [trust, source.runId, source.tool, source.origin, source.channel, urls] as const
}

/**
 * Converts a row. Programs in the container can write to the file, so texts are sanitized and cut, labels checked.
 */
function factOf(row: Row): Fact {
  const clean = (column: string, maxChars: number) =>
    truncatePromptText(sanitizeForPrompt(row[column]), maxChars, '')
  const word = (column: string) => clean(column, sourceWordMaxChars)
  const count = (column: string) => Math.max(0, Math.trunc(Number(row[column])) || 0)
  return {
    id: Number(row['id']),
    key: row['key'] === null ? null : clean('key', factKeyMaxChars),
    text: clean('text', factTextMaxChars),
    category: clean('category', factCategoryMaxChars),
    source: {
      runId: word('run_id'),
      tool: word('tool'),
      origin: word('origin'),
      channel: word('channel'),
      urls: readUrls(row['urls']),
    },
    trust: isTrust(row['trust']) ? row['trust'] : 'outside',
    createdAt: count('created_at'),
    lastUsedAt: count('last_used_at'),
    useCount: count('use_count'),
  }
}

function readUrls(text: unknown): readonly string[] {
  try {
    const value: unknown = JSON.parse(String(text))
    if (!Array.isArray(value)) return []
    return value.slice(0, sourceUrlsMax).map((url) => sanitizeForPrompt(url).slice(0, sourceUrlMaxChars))
  } catch {
    return []
  }
}
