import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { aFact, aMemory, wordVector } from '../testing/memory-harness.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { readVectors } from './embed-texts.ts'
import type { EmbedTexts } from './embed-texts.ts'
import { backOffMs, createEmbeddingQueue, embedBatchMax, waitAfter } from './embedding-queue.ts'

const never = new AbortController().signal

async function aQueue(embed: EmbedTexts, facts: readonly string[]) {
  const harness = await aMemory({ model: 'm' })
  for (const text of facts) harness.store.save(aFact(text))
  const vectors = harness.vectors! // a model is named
  const queue = createEmbeddingQueue({ vectors, clock: harness.clock, log: quietLog })
  return { ...harness, vectors, queue, source: { embed, ended: never } }
}

/** Answers with the listed failures, then successfully. */
function modelThat(...failures: readonly Error[]) {
  const requests: (readonly string[])[] = []
  const embed: EmbedTexts = async (texts) => {
    const failure = failures[requests.push(texts) - 1]
    if (failure) throw failure
    return texts.map((text) => wordVector(text))
  }
  return { embed, asked: requests }
}

describe('embedding what was saved', () => {
  test('three failures, then success: everything has its vector in the end', async () => {
    heedsLesson(105)
    const away = new Problem('upstream-failed')
    const model = modelThat(away, away, away)
    const { queue, vectors, source, waitsMs } = await aQueue(model.embed, ['one fact', 'two facts'])
    await queue.work(source)
    expect(vectors.pendingCount()).toBe(0)
    expect(waitsMs).toEqual(backOffMs.slice(0, 3))
    expect(model.asked).toHaveLength(4)
    expect(queue.failure()).toBeNull()
  })

  test('no number of failures ends the trying: the longest wait comes again and again', async () => {
    const model = modelThat(...Array.from({ length: 40 }, () => new Problem('upstream-failed')))
    const { queue, vectors, source, waitsMs } = await aQueue(model.embed, ['one fact'])
    await queue.work(source)
    expect(vectors.pendingCount()).toBe(0)
    expect(waitsMs.slice(5)).toEqual(Array.from({ length: 35 }, () => backOffMs.at(-1)))
    expect(waitAfter(10_000)).toBe(backOffMs.at(-1))
  })

  test('while the model is away a question has no vector at once, and has one when it is back', async () => {
    const model = modelThat(new Problem('upstream-failed'))
    const { queue, source, pass } = await aQueue(model.embed, [])
    expect(await queue.question(source, 'x', never)).toBeNull()
    expect(queue.isResting()).toBe(true)
    expect(await queue.question(source, 'x', never)).toBeNull()
    expect(model.asked).toHaveLength(1)
    pass(backOffMs[0])
    expect(await queue.question(source, 'x', never)).toEqual(wordVector('x'))
    expect(queue.failure()).toBeNull()
  })

  test('one text that is refused holds up no other and is tried again behind them', async () => {
    const asked: (readonly string[])[] = []
    const facts = ['good one', 'poison', 'good two']
    let refuses = true
    const embed: EmbedTexts = async (texts) => {
      asked.push(texts)
      if (refuses && texts.includes('poison')) throw new Problem('bad-request')
      return texts.map((text) => wordVector(text))
    }
    const harness = await aQueue(embed, facts)
    const life = new AbortController()
    const stopAfter: EmbedTexts = async (texts, signal) => {
      if (asked.length === 5) life.abort(new Error('enough'))
      return embed(texts, signal)
    }
    await harness.queue.work({ embed: stopAfter, ended: life.signal })
    expect(asked.slice(0, 4)).toEqual([facts, ['good one'], ['poison'], ['good two']])
    expect(harness.vectors.pending(5).map(({ text }) => text)).toEqual(['poison'])
    refuses = false
    await harness.queue.work(harness.source)
    expect(harness.vectors.pendingCount()).toBe(0)
  })

  test('batches are bounded', async () => {
    const model = modelThat()
    const facts = Array.from({ length: embedBatchMax * 2 + 3 }, (_, index) => `fact number ${index}`)
    const { queue, source } = await aQueue(model.embed, facts)
    await queue.work(source)
    expect(model.asked.map((texts) => texts.length)).toEqual([embedBatchMax, embedBatchMax, 3])
  })

  test('the end of a run stops the work, and the next run goes on with it', async () => {
    const life = new AbortController()
    const held: EmbedTexts = (_texts, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        life.abort(new Error('the run is over'))
      })
    const { queue, vectors, source } = await aQueue(modelThat().embed, ['one fact'])
    await queue.work({ embed: held, ended: life.signal })
    expect(vectors.pendingCount()).toBe(1)
    expect(queue.failure()).toBeNull()
    await queue.work(source)
    expect(vectors.pendingCount()).toBe(0)
  })

  test('a question that gets no vector in its time is answered without', async () => {
    const silent: EmbedTexts = (_texts, signal) =>
      new Promise((_resolve, reject) => {
        if (signal.aborted) reject(signal.reason as Error)
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    const { queue, source } = await aQueue(silent, [])
    expect(await queue.question(source, 'x', never)).toBeNull()
    expect(queue.failure()).toContain('5000 ms')
  })
})

describe('an answer with vectors', () => {
  const item = (index: number, ...embedding: unknown[]) => ({ index, embedding })
  test('vectors come in the order of their numbers', () => {
    expect(readVectors({ data: [item(1, 2, 3), item(0, 4, 5)] }, 2)).toEqual([
      Float32Array.of(4, 5),
      Float32Array.of(2, 3),
    ])
  })
  test.each([
    [null],
    [{ data: [] }],
    [{ data: [item(0, 1), item(0, 1)] }],
    [{ data: [item(0, 1), item(1, 1, 2)] }],
    [{ data: [item(0), item(1)] }],
    [{ data: [item(0, 'x'), item(1, 1)] }],
    [{ data: [item(-1, 1), item(7, 1)] }],
  ])('%j is refused', (reply) => {
    expect(() => readVectors(reply, 2)).toThrow(/contain 2 vectors/)
  })
})
