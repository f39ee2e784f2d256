import { execFile } from 'node:child_process'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as z from 'zod'
import { openMemoryDatabase } from '../packages/agent/src/memory/memory-database.ts'
import type { MemoryDatabase } from '../packages/agent/src/memory/memory-database.ts'
import { createMemoryStore } from '../packages/agent/src/memory/memory-store.ts'
import { searchExpression } from '../packages/agent/src/memory/search-query.ts'
import { createVectorIndex } from '../packages/agent/src/memory/vector-index.ts'
import type { VectorIndex } from '../packages/agent/src/memory/vector-index.ts'
import { systemClock } from '../packages/agent/src/system-clock.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { makeFacts, questionKinds } from './memory-facts.ts'
import type { MadeQuestion, MadeFacts } from './memory-facts.ts'
import { median, percentile } from './statistics.ts'
import { figure } from './table.ts'
import type { Table } from './table.ts'

const facts = 10_000
const perKind = 100
const found = 5
const model = 'bench/stand-in'
const megabyte = 1024 ** 2
const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** Ids of the facts that a question finds, best first. */
type Find = (question: MadeQuestion, vector: Float32Array) => readonly number[]

interface Contender {
  readonly name: string
  readonly find: Find
}

interface Measured {
  readonly times: number[]
  readonly hits: Map<string, number>
}

export const memoryBench: Bench = {
  name: 'memory',
  claim: `what a search in an agent’s memory of ${facts} facts finds, and how long it takes`,
  defaultRuns: 3,
  run: async ({ runs, folder, progress, signal }: BenchOptions) => {
    const path = join(folder, 'memory.db')
    const made = makeFacts(facts, perKind)
    const database = await openMemoryDatabase(path, silent)
    try {
      const vectors = createVectorIndex(database, model)
      progress(`saving ${facts} facts`)
      const saving = fill(database, vectors, made)
      const contenders = contendersOn(database, vectors)
      const measured = new Map<string, Measured>(
        contenders.map(({ name }) => [name, { times: [], hits: new Map() }]),
      )
      for (let round = 0; round < runs && !signal.aborted; round += 1) {
        progress(`round ${round + 1} of ${runs}`)
        for (const contender of rotated(contenders, round)) {
          askAll(contender, made, measured.get(contender.name))
          // The search has reinforced facts, which must not help the next contender.
          database.exec('UPDATE facts SET use_count = 0, last_used_by = NULL, last_used_at = created_at')
        }
      }
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      progress('memory of a process that opens it')
      const footprint = await measureFootprint(path, join(folder, 'copy.db'))
      const figures = Object.fromEntries(
        [...measured].map(([name, { times, hits }]) => [
          name,
          { medianMs: median(times), p99Ms: percentile(times, 99), hits: Object.fromEntries(hits) },
        ]),
      )
      return {
        tables: [searchTable(measured, runs), sizeTable(footprint, { saving, bytes: statSync(path).size })],
        figures: { facts, perKind, runs, saving, searches: figures, footprint },
      }
    } finally {
      database.close()
    }
  },
}

/** Fills the memory; returns the milliseconds for one save without batches, and for storing one vector. */
function fill(
  database: MemoryDatabase,
  vectors: VectorIndex,
  made: MadeFacts,
): { saveMs: number; vectorMs: number } {
  const store = createMemoryStore({ database, vectors, clock: systemClock })
  const source = { runId: 'run_bench', tool: 'bench', origin: 'human', channel: 'cli', urls: [] }
  const startedAt = performance.now()
  for (const { text } of made.facts) store.save({ text, source, trust: 'owner' })
  const savedAt = performance.now()
  let embedding = 0
  for (let batch = vectors.pending(64); batch.length > 0; batch = vectors.pending(64)) {
    const began = performance.now()
    const embedded = batch.map((one) => ({ ...one, vector: made.embed(one.text) }))
    embedding += performance.now() - began
    vectors.store(embedded)
  }
  return {
    saveMs: (savedAt - startedAt) / facts,
    vectorMs: (performance.now() - savedAt - embedding) / facts,
  }
}

function contendersOn(database: MemoryDatabase, vectors: VectorIndex): readonly Contender[] {
  const store = createMemoryStore({ database, vectors, clock: systemClock })
  const search = (text: string, vector: Float32Array | null) =>
    store.search({ text, vector, category: null, maxResults: found, runId: 'bench' }).map(({ id }) => id)
  return [
    { name: 'floor: LIKE on every fact', find: ({ text }) => likeScan(database, text) },
    { name: 'floor: bare FTS5 query', find: ({ text }) => bareWords(database, text) },
    {
      name: 'floor: bare vec0 query',
      find: (_question, vector) => [...vectors.nearest(vector, { category: null, limit: found }).keys()],
    },
    { name: 'words only', find: ({ text }) => search(text, null) },
    { name: 'vectors only', find: (_question, vector) => search('', vector) },
    { name: 'hybrid 0.7 / 0.3', find: ({ text }, vector) => search(text, vector) },
  ]
}

function likeScan(database: MemoryDatabase, text: string): readonly number[] {
  const words = text.split(' ').filter((word) => word.length > 3)
  const score = words.map(() => '(text LIKE ?)').join(' + ')
  const sql = `SELECT id FROM facts WHERE ${score} > 0 ORDER BY ${score} DESC LIMIT ${found}`
  const patterns = words.map((word) => `%${word}%`)
  return database
    .prepare(sql)
    .all(...patterns, ...patterns)
    .map((row) => Number(row['id']))
}

function bareWords(database: MemoryDatabase, text: string): readonly number[] {
  return database
    .prepare('SELECT rowid AS id FROM fact_words WHERE fact_words MATCH ? ORDER BY rank LIMIT ?')
    .all(searchExpression(text), found)
    .map((row) => Number(row['id']))
}

function askAll({ find }: Contender, made: MadeFacts, into: Measured | undefined): void {
  for (const question of made.questions) {
    const vector = made.embed(question.text)
    const startedAt = performance.now()
    const ids = find(question, vector)
    into?.times.push(performance.now() - startedAt)
    // Facts are numbered from 1 in the order in which they were saved.
    if (ids.includes(question.answer + 1))
      into?.hits.set(question.kind, (into.hits.get(question.kind) ?? 0) + 1)
  }
}

const footprintSchema = z.strictObject({
  before: z.number(),
  opened: z.number(),
  searched: z.number(),
  most: z.number(),
})
type Footprint = z.infer<typeof footprintSchema>

async function measureFootprint(path: string, copy: string): Promise<Footprint> {
  copyFileSync(path, copy)
  const script = fileURLToPath(new URL('memory-footprint.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=1',
    script,
    copy,
    model,
  ])
  return footprintSchema.parse(JSON.parse(stdout))
}

function searchTable(measured: ReadonlyMap<string, Measured>, runs: number): Table {
  return {
    title: `Memory: recall@${found} and time of one search among ${facts} facts`,
    columns: ['', ...questionKinds, 'all', 'median ms', 'p99 ms'],
    rows: [...measured].map(([name, { times, hits }]) => {
      const shares = questionKinds.map((kind) => (hits.get(kind) ?? 0) / (perKind * runs))
      const all = shares.reduce((sum, share) => sum + share, 0) / shares.length
      return [
        name,
        ...shares.map((share) => figure(share, 2)),
        figure(all, 2),
        figure(median(times), 2),
        figure(percentile(times, 99), 2),
      ]
    }),
    notes: [
      `${perKind} questions of each kind, each with one right fact; facts and questions are generated from a made-up vocabulary of 1500 concepts with three words each.`,
      'Vectors are no model’s: a synthetic model of 256 numbers knows 85 % of the words to mean the same as their synonyms and nothing of the rest or of numbers. The recall by vectors says how the ranking uses what vectors know, not how good an embedding model is.',
      'A search of the product also marks what it found as used, which is a durable write; the floors only read. The vector of the question is made by the mesh and not in these times.',
    ],
  }
}

function sizeTable(
  footprint: Footprint,
  file: { saving: { saveMs: number; vectorMs: number }; bytes: number },
): Table {
  const { before, opened, searched, most } = footprint
  const row = (name: string, bytes: number) => [
    name,
    figure(bytes / megabyte, 1),
    figure((bytes - before) / megabyte, 1),
  ]
  return {
    title: `Memory of a process with ${facts} facts open`,
    columns: ['', 'MB resident', 'more'],
    rows: [
      row('before', before),
      row('opened', opened),
      row('after 100 hybrid searches', searched),
      row('most in between', most),
    ],
    notes: [
      `The file has ${figure(file.bytes / megabyte, 1)} MB. One save took ${figure(file.saving.saveMs, 3)} ms, storing one vector in batches of 64 ${figure(file.saving.vectorMs, 3)} ms.`,
      '"before" is bare Node with these sources loaded and SQLite not.',
    ],
  }
}
