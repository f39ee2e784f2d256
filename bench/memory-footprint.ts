import { openMemoryDatabase } from '../packages/agent/src/memory/memory-database.ts'
import { createMemoryStore } from '../packages/agent/src/memory/memory-store.ts'
import { createVectorIndex } from '../packages/agent/src/memory/vector-index.ts'
import { systemClock } from '../packages/agent/src/system-clock.ts'

/** A separate process that opens a memory database and searches it; prints its memory before and after, bytes. */
const [path = '', model = '', dimensions = '256', searches = '100'] = process.argv.slice(2)
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const rss = () => process.memoryUsage.rss()

const before = rss()
const database = await openMemoryDatabase(path, silent)
const vectors = createVectorIndex(database, model)
const store = createMemoryStore({ database, vectors, clock: systemClock })
const opened = rss()
const vector = new Float32Array(Number(dimensions)).fill(1 / Math.sqrt(Number(dimensions)))
let most = opened
for (let search = 0; search < Number(searches); search += 1) {
  const text = `what is the ${store.categories()[0]} number ${10_000 + search}`
  store.search({ text, vector, category: null, maxResults: 5, runId: 'footprint' })
  most = Math.max(most, rss())
}
console.log(JSON.stringify({ before, opened, searched: rss(), most }))
database.close()
