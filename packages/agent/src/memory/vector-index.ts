import type { MemoryDatabase } from './memory-database.ts'

const dimensionsMax = 8192
/**
 * Number of facts whose similarity to a question is sampled for the background; fewer than the minimum are
 * not representative.
 */
const sampleMax = 32
const sampleMin = 16

export interface PendingText {
  readonly id: number
  readonly text: string
  readonly failures: number
}

export interface EmbeddedText extends PendingText {
  readonly vector: Float32Array
}

/**
 * Vectors of one model in one space, never mixed: with another model, or another vector length, all are dropped and
 * computed again over time. The texts that wait for a vector are a queue in the file, which survives restarts.
 */
export interface VectorIndex {
  /** Waiting texts; those that failed before come last. */
  pending(limit: number): readonly PendingText[]
  pendingCount(): number
  /** Leaves out texts that were changed or deleted while they were embedded. False if the vectors are unusable. */
  store(texts: readonly EmbeddedText[]): boolean
  markFailed(ids: readonly number[]): void
  has(id: number): boolean
  /**
   * Whether a question of that length can be compared; if the model now makes other vectors, all texts wait again.
   */
  fits(question: Float32Array): boolean
  remove(id: number): void
  nearest(
    question: Float32Array,
    options: { category: string | null; limit: number },
  ): ReadonlyMap<number, number>
  /** The median cosine of sampled facts to the question: the value that means no similarity. */
  background(question: Float32Array): number
  /** Cosines of the facts that have a vector. */
  cosines(question: Float32Array, ids: readonly number[]): ReadonlyMap<number, number>
}

export function createVectorIndex(database: MemoryDatabase, model: string): VectorIndex {
  const { prepare, write } = database
  const space = prepare('SELECT model, dimension FROM vector_space').get()
  let dimension = space?.['model'] === model ? readDimension(space['dimension']) : null
  if (space !== undefined && dimension === null) database.transaction(() => reset(database))

  /** Null if the question belongs to another vector space than the facts. */
  const bytesOf = (vector: Float32Array): Uint8Array | null =>
    vector.length === dimension ? asBytes(vector) : null
  /** Queries fact by fact: for several facts in one query the extension scans the whole table. */
  const cosinesTo = (bytes: Uint8Array, ids: readonly number[]): ReadonlyMap<number, number> => {
    const statement = prepare(
      'SELECT fact_id, vec_distance_cosine(embedding, ?) AS distance FROM fact_vectors WHERE fact_id = ?',
    )
    const rows = ids.map((id) => statement.get(bytes, BigInt(id)))
    return cosinesOf(rows.filter((row) => row !== undefined))
  }
  const startAnew = (): void => {
    database.transaction(() => reset(database))
    dimension = null
  }
  return {
    pending: (limit) =>
      prepare(
        'SELECT id, text, embed_failures FROM facts WHERE embedded = 0 ORDER BY embed_failures, id LIMIT ?',
      )
        .all(limit)
        .map((row) => ({
          id: Number(row['id']),
          text: String(row['text']),
          failures: Number(row['embed_failures']),
        })),
    pendingCount: () =>
      Number(prepare('SELECT count(*) AS n FROM facts WHERE embedded = 0').get()?.['n'] ?? 0),
    store: (texts) => {
      const found = texts[0]?.vector.length ?? 0
      if (found === 0 || found > dimensionsMax || texts.some(({ vector }) => vector.length !== found))
        return false
      database.transaction(() => {
        if (found !== dimension) {
          reset(database)
          database.exec(
            `CREATE VIRTUAL TABLE fact_vectors USING vec0(fact_id INTEGER PRIMARY KEY, embedding float[${found}] distance_metric=cosine)`,
          )
          write('INSERT INTO vector_space (one, model, dimension) VALUES (1, ?, ?)', model, found)
        }
        for (const { id, text, vector } of texts) {
          const { changes } = write(
            'UPDATE facts SET embedded = 1, embed_failures = 0 WHERE id = ? AND text = ?',
            id,
            text,
          )
          if (changes === 0) continue
          write('DELETE FROM fact_vectors WHERE fact_id = ?', BigInt(id))
          write('INSERT INTO fact_vectors (fact_id, embedding) VALUES (?, ?)', BigInt(id), asBytes(vector))
        }
      })
      dimension = found
      return true
    },
    markFailed: (ids) => {
      write(
        'UPDATE facts SET embed_failures = embed_failures + 1 WHERE id IN (SELECT value FROM json_each(?))',
        JSON.stringify(ids),
      )
    },
    has: (id) => prepare('SELECT 1 FROM facts WHERE id = ? AND embedded = 1').get(id) !== undefined,
    fits: (question) => {
      if (dimension !== null && question.length !== dimension) startAnew()
      return question.length === dimension
    },
    remove: (id) => {
      if (dimension !== null) write('DELETE FROM fact_vectors WHERE fact_id = ?', BigInt(id))
    },
    nearest: (question, { category, limit }) => {
      const bytes = bytesOf(question)
      if (bytes === null) return new Map()
      const rows =
        category === null
          ? prepare('SELECT fact_id, distance FROM fact_vectors WHERE embedding MATCH ? AND k = ?').all(
              bytes,
              limit,
            )
          : prepare(
              `SELECT fact_id, distance FROM fact_vectors WHERE embedding MATCH ? AND k = ?
                 AND fact_id IN (SELECT id FROM facts WHERE category = ?)`,
            ).all(bytes, limit, category)
      return cosinesOf(rows)
    },
    background: (question) => {
      const bytes = bytesOf(question)
      if (bytes === null) return 0
      const newest = Number(prepare('SELECT max(id) AS id FROM facts').get()?.['id'] ?? 0)
      const step = Math.max(1, newest / sampleMax)
      const ids = Array.from(
        { length: Math.min(sampleMax, newest) },
        (_, place) => Math.floor(place * step) + 1,
      )
      const sample = [...cosinesTo(bytes, ids).values()].sort((a, b) => a - b)
      return sample.length < sampleMin ? 0 : (sample[Math.floor(sample.length / 2)] ?? 0)
    },
    cosines: (question, ids) => {
      const bytes = bytesOf(question)
      return bytes === null ? new Map<number, number>() : cosinesTo(bytes, ids)
    },
  }
}

/** Deletes all vectors, so that all texts wait again. SQLite prepares old statements again by itself. */
function reset(database: MemoryDatabase): void {
  database.exec('DROP TABLE IF EXISTS fact_vectors; DELETE FROM vector_space; UPDATE facts SET embedded = 0;')
}

function cosinesOf(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<number, number> {
  // A zero vector, of a text without words, has no angle to another.
  const pairs = rows.map((row) => [Number(row['fact_id']), 1 - Number(row['distance'] ?? 1)] as const)
  return new Map(pairs.filter(([, cosine]) => Number.isFinite(cosine)))
}

function asBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
}

function readDimension(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && value <= dimensionsMax ? value : null
}
