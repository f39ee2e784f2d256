import { describe, expect, test } from 'vitest'
import { quietLog } from '../testing/quiet-log.ts'
import { aFact, aMemory, wordVector } from '../testing/memory-harness.ts'
import { openMemoryDatabase } from './memory-database.ts'
import { createVectorIndex } from './vector-index.ts'
import type { VectorIndex } from './vector-index.ts'

const question = { category: null, limit: 5 }
const embedAll = (vectors: VectorIndex | null, dimensions: number) =>
  vectors?.store(vectors.pending(50).map((one) => ({ ...one, vector: wordVector(one.text, dimensions) })))

describe('the vectors of facts', () => {
  test('the first answer of the model sets their length, and the file keeps it', async () => {
    const { store, vectors, database, path } = await aMemory({ model: 'm' })
    store.save(aFact('red car'))
    expect(vectors?.pendingCount()).toBe(1)
    expect(embedAll(vectors, 24)).toBe(true)
    expect(vectors?.pendingCount()).toBe(0)
    database.close()
    const again = await openMemoryDatabase(path, quietLog)
    const kept = createVectorIndex(again, 'm')
    expect(kept.pendingCount()).toBe(0)
    expect([...kept.nearest(wordVector('red car', 24), question).values()][0]).toBeCloseTo(1)
    again.close()
  })

  test('another model makes all wait again; vectors of two models are never in one space', async () => {
    const { store, vectors, database, path } = await aMemory({ model: 'm' })
    for (const text of ['red car', 'blue house']) store.save(aFact(text))
    embedAll(vectors, 24)
    database.close()
    const again = await openMemoryDatabase(path, quietLog)
    const other = createVectorIndex(again, 'another/m')
    expect(other.pendingCount()).toBe(2)
    expect(other.nearest(wordVector('red car', 24), question).size).toBe(0)
    const [first] = other.pending(1)
    other.store([{ ...first!, vector: wordVector('red car', 16) }]) // there are two
    expect(other.nearest(wordVector('red car', 16), question).size).toBe(1)
    expect(other.pendingCount()).toBe(1)
    again.close()
  })

  test('a model that makes vectors of another length now starts anew', async () => {
    const { store, vectors } = await aMemory({ model: 'm' })
    for (const text of ['red car', 'blue house']) store.save(aFact(text))
    embedAll(vectors, 24)
    expect(vectors?.fits(wordVector('x', 24))).toBe(true)
    expect(vectors?.fits(wordVector('x', 16))).toBe(false)
    expect(vectors?.pendingCount()).toBe(2)
    embedAll(vectors, 16)
    expect(vectors?.fits(wordVector('x', 16))).toBe(true)
    expect(vectors?.nearest(wordVector('red car', 16), question).size).toBe(2)
  })

  test('a text that changed meanwhile keeps waiting, a forgotten one leaves nothing', async () => {
    const { store, vectors, database } = await aMemory({ model: 'm' })
    const { fact } = store.save(aFact('red car', { key: 'thing' }))
    const late = vectors!.pending(5) // a model is named
    store.save(aFact('blue car', { key: 'thing' }))
    vectors?.store(late.map((one) => ({ ...one, vector: wordVector(one.text, 8) })))
    expect(vectors?.has(fact.id)).toBe(false)
    embedAll(vectors, 8)
    expect(vectors?.has(fact.id)).toBe(true)
    store.forget({ key: 'thing' }, 'owner')
    expect(database.prepare('SELECT count(*) AS n FROM fact_vectors').get()?.['n']).toBe(0)
  })

  test('a category narrows the nearest', async () => {
    const { store, vectors } = await aMemory({ model: 'm' })
    store.save(aFact('red car', { category: 'thing' }))
    store.save(aFact('red rose', { category: 'plant' }))
    embedAll(vectors, 32)
    const near = vectors?.nearest(wordVector('red car', 32), { category: 'plant', limit: 5 })
    expect(near?.size).toBe(1)
  })

  test('vectors of no length, of two lengths or of a monstrous one are not stored', async () => {
    const { store, vectors } = await aMemory({ model: 'm' })
    for (const text of ['a b', 'c d']) store.save(aFact(text))
    const [one, two] = vectors!.pending(2) // a model is named
    expect(vectors?.store([{ ...one!, vector: new Float32Array() }])).toBe(false) // two were saved
    expect(vectors?.store([{ ...one!, vector: new Float32Array(9000) }])).toBe(false) // two were saved
    const uneven = [
      { ...one!, vector: new Float32Array(2) }, // two were saved
      { ...two!, vector: new Float32Array(3) }, // two were saved
    ]
    expect(vectors?.store(uneven)).toBe(false)
    expect(vectors?.pendingCount()).toBe(2)
  })
})
