import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { expect, describe, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { stateFolder } from '../door-token.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aFact, aFolder, wordVector } from '../testing/memory-harness.ts'
import { quietLog } from '../testing/quiet-log.ts'
import type { EmbedTexts } from './embed-texts.ts'
import { backOffMs } from './embedding-queue.ts'
import { createMemory } from './memory.ts'

const signal = new AbortController().signal
const question = { text: 'when is tea', category: null, maxResults: 5, runId: 'run_1' }

function open(options: { model?: string | null; folder?: string } = {}) {
  const dataDirectory = options.folder ?? aFolder()
  const time = createManualClock(1_000_000, { passesMs: Infinity })
  const { model = 'm' } = options
  const memory = createMemory({ dataDirectory, embeddingModel: model, clock: time, log: quietLog })
  return { memory, dataDirectory, pass: (ms: number) => void time.leap(ms) }
}
const works: EmbedTexts = async (texts) => texts.map((text) => wordVector(text))

describe('memory', () => {
  test('nothing is on disk before the first use', async () => {
    const { memory, dataDirectory } = open()
    expect(readdirSync(dataDirectory)).toEqual([])
    await memory.save(aFact('tea is at four'), null)
    expect(readdirSync(join(dataDirectory, stateFolder))).toContain('memory.db')
    await memory.close()
  })

  test('a saved fact has its vector when the save is answered, and outlives the process', async () => {
    const { memory, dataDirectory } = open()
    const source = { embed: works, ended: signal }
    expect(await memory.save(aFact('tea is at four'), source)).toMatchObject({
      change: 'new',
      way: { kind: 'words-and-meaning' },
    })
    await memory.close()
    const later = open({ folder: dataDirectory })
    const answer = await later.memory.search(question, source, signal)
    expect(answer).toMatchObject({
      way: { kind: 'words-and-meaning', unembedded: 0 },
      facts: [{ text: 'tea is at four', trust: 'owner' }],
    })
    await later.memory.close()
  })

  test('while embeddings fail facts are found by words, the answer says so, and later by meaning', async () => {
    let fails = true
    const embed: EmbedTexts = async (texts, stop) => {
      if (fails) throw new Problem('upstream-failed', { detail: 'the provider is away' })
      return works(texts, stop)
    }
    const { memory, pass } = open()
    const first = new AbortController()
    const source = { embed, ended: first.signal }
    await memory.search(question, source, signal)
    await memory.save(aFact('tea is at four'), source)
    const meanwhile = await memory.search(question, source, signal)
    expect(meanwhile.facts).toHaveLength(1)
    expect(meanwhile.way).toEqual({ kind: 'words', why: 'the provider is away' })
    first.abort(new Error('the run is over'))
    fails = false
    pass(backOffMs.at(-1) ?? 0)
    const next = { embed, ended: signal }
    await memory.search(question, next, signal)
    await memory.save(aFact('coffee is at nine'), next)
    expect((await memory.search(question, next, signal)).way).toEqual({
      kind: 'words-and-meaning',
      unembedded: 0,
    })
    await memory.close()
  })

  test('without a model memory works by words and says why', async () => {
    const { memory } = open({ model: null })
    await memory.save(aFact('tea is at four'), null)
    const answer = await memory.search(question, null, signal)
    expect(answer.facts).toHaveLength(1)
    expect(answer.way).toEqual({ kind: 'words', why: 'no embedding model is set' })
    await memory.close()
  })

  test('nothing of a conversation that failed is kept', async () => {
    heedsLesson(106)
    const { memory, dataDirectory } = open()
    const facts = [aFact('The answer is: model-failed'), aFact('I cannot help with that')]
    expect(await memory.saveFacts(facts, { runOk: false, source: null })).toEqual({ saved: 0, refused: 0 })
    expect(readdirSync(dataDirectory)).toEqual([])
    expect((await memory.search(question, null, signal)).facts).toEqual([])
    await memory.close()
  })

  test('a refused fact does not keep other unrequested facts from being saved', async () => {
    const { memory } = open()
    const facts = [aFact('tea is at four'), aFact('\u200B'), aFact('coffee is at nine')]
    const saved = await memory.saveFacts(facts, { runOk: true, source: { embed: works, ended: signal } })
    expect(saved).toEqual({ saved: 2, refused: 1 })
    await memory.close()
  })

  test('a broken file is put aside and the memory begins anew', async () => {
    const folder = aFolder()
    mkdirSync(join(folder, stateFolder))
    writeFileSync(join(folder, stateFolder, 'memory.db'), 'this was a database '.repeat(500))
    const { memory } = open({ folder })
    await memory.save(aFact('tea is at four'), null)
    expect((await memory.search(question, null, signal)).facts).toHaveLength(1)
    await memory.close()
    expect(readdirSync(join(folder, stateFolder))).toContain('memory.db.broken')
  })
})
