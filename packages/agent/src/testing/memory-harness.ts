import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FactSource, NewFact } from '../memory/fact.ts'
import { openMemoryDatabase } from '../memory/memory-database.ts'
import type { MemoryDatabase } from '../memory/memory-database.ts'
import { createMemoryStore } from '../memory/memory-store.ts'
import { createVectorIndex } from '../memory/vector-index.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { quietLog } from './quiet-log.ts'

export const aSource: FactSource = {
  runId: 'run_1',
  tool: 'memory_save',
  origin: 'human',
  channel: 'cli',
  urls: [],
}

export function aFact(text: string, more: Partial<NewFact> = {}): NewFact {
  return { text, source: aSource, trust: 'owner', ...more }
}

export function aFolder(): string {
  return mkdtempSync(join(tmpdir(), 'memory-'))
}

/** A store on a real file, with vectors of a model if one is named. */
export async function aMemory(options: { model?: string; maxFacts?: number; path?: string } = {}) {
  const path = options.path ?? join(aFolder(), 'memory.db')
  const database = await openMemoryDatabase(path, quietLog)
  const time = createManualClock(1_000_000, { passesMs: Infinity })
  const vectors = options.model === undefined ? null : createVectorIndex(database, options.model)
  const { maxFacts } = options
  const store = createMemoryStore({
    database,
    vectors,
    clock: time,
    ...(maxFacts === undefined ? {} : { maxFacts }),
  })
  return {
    store,
    vectors,
    database,
    path,
    clock: time,
    waitsMs: time.passed,
    pass: (ms: number) => void time.leap(ms),
  }
}

export function rowsOf(database: MemoryDatabase): readonly Readonly<Record<string, unknown>>[] {
  return database.prepare('SELECT * FROM facts ORDER BY id').all()
}

/** A vector of length one from the words of a text; synonyms that the test names get the same vector. */
export function wordVector(
  text: string,
  dimensions = 32,
  meaningOf: (word: string) => string = (word) => word,
): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const hash = createHash('sha256').update(meaningOf(word)).digest()
    const place = hash.readUInt32LE(0) % dimensions
    vector[place] = (vector[place] ?? 0) + (hash.readUInt8(4) % 2 === 0 ? 1 : -1)
  }
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((value) => value / length)
}
