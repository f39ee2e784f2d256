import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contextLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { readWindow } from './ask-window.ts'
import { freshCalibration } from './calibration.ts'
import { createModelFactStore, defaultWindowTokens, windowOf } from './model-facts.ts'

const aStore = (content?: string) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'models-'))
  const clock = createManualClock(10_000_000)
  if (content !== undefined) {
    mkdirSync(join(dataDirectory, '.flotilla'))
    writeFileSync(join(dataDirectory, '.flotilla', 'models.json'), content)
  }
  const open = () => createModelFactStore({ dataDirectory, clock, log: quietLog })
  return { modelFacts: open(), open, pass: (ms: number) => void clock.leap(ms) }
}

describe('what is known of a model', () => {
  test('what is known of a model is kept whole when many learn at once', async () => {
    const { modelFacts, open } = aStore()
    const models = Array.from({ length: 20 }, (_, index) => `m${index}`)
    await Promise.all(models.map((model) => modelFacts.told(model, 32_000)))
    for (const model of models) expect(await open().of(model)).toMatchObject({ meshWindowTokens: 32_000 })
  })

  test('what is known of a model outlives a restart', async () => {
    const { modelFacts, open } = aStore()
    await modelFacts.told('m', 32_000)
    await modelFacts.learn('m', { ratio: 1.4, confirmed: true })
    await modelFacts.learnWindow('m', { tokens: 20_000, isStated: true })
    const facts = await open().of('m')
    expect(facts).toMatchObject({ meshWindowTokens: 32_000, calibration: { ratio: 1.4 } })
    expect(windowOf(facts)).toBe(20_000)
  })

  test('what is known of a model is asked of the mesh again after an hour', async () => {
    const { modelFacts, pass } = aStore()
    expect(await modelFacts.wantsAsking('m')).toBe(true)
    await modelFacts.told('m', null)
    expect(await modelFacts.wantsAsking('m')).toBe(false)
    pass(3_600_001)
    expect(await modelFacts.wantsAsking('m')).toBe(true)
  })

  test('what is known of a model has a careful default and follows the mesh to a million', () => {
    heedsLesson(110)
    const facts = {
      calibration: freshCalibration,
      learnedWindow: null,
      meshWindowTokens: null,
      askedAt: 0,
    }
    expect(windowOf(facts)).toBe(defaultWindowTokens)
    expect(windowOf({ ...facts, meshWindowTokens: 1_000_000 })).toBe(1_000_000)
  })

  test('a window that a refusal has shown holds for an hour, over restarts', async () => {
    const { modelFacts, open, pass } = aStore()
    await modelFacts.told('m', 128_000)
    await modelFacts.learnWindow('m', { tokens: 8192, isStated: true })
    pass(contextLimits.learnedWindowMs - 1)
    expect(windowOf(await open().of('m'))).toBe(8192)
    pass(1)
    expect(windowOf(await modelFacts.of('m'))).toBe(128_000)
    expect(windowOf(await open().of('m'))).toBe(128_000)
  })

  test('a window is forgotten at once when it is shown to be wrong', async () => {
    const { modelFacts, open } = aStore()
    await modelFacts.told('m', 128_000)
    await modelFacts.learnWindow('m', { tokens: 8192, isStated: true })
    await modelFacts.learnWindow('m', null)
    expect(windowOf(await open().of('m'))).toBe(128_000)
  })

  test.each([
    ['in the form of before, which could be below what was stated', { windowTokens: 5281 }, {}],
    [
      'from a time to come',
      {},
      { learnedWindow: { tokens: 5281, isStated: true }, learnedAt: 99_000_000_000 },
    ],
    ['without a time', {}, { learnedWindow: { tokens: 5281, isStated: true } }],
  ])('a window on disk %s is not believed', async (_how, inCalibration, beside) => {
    const calibration = { ratio: 1, confirmed: true, ...inCalibration }
    const content = JSON.stringify({ m: { calibration, meshWindowTokens: 64_000, askedAt: 1, ...beside } })
    expect(windowOf(await aStore(content).modelFacts.of('m'))).toBe(64_000)
  })

  test.each([
    '{"m":{"calibration":{"ratio":1e9,"confirmed":true,"windowTokens":1}}}',
    '{"m":{"calibration":{"ratio":"2"}}}',
    '{"m":7}',
    '[]',
    'torn',
  ])('%s on disk is not believed', async (content) => {
    expect((await aStore(content).modelFacts.of('m')).calibration).toEqual(freshCalibration)
  })

  test('fifty models are remembered', async () => {
    const { modelFacts } = aStore()
    for (let index = 0; index < 60; index += 1) await modelFacts.told(`m${index}`, 5000)
    expect((await modelFacts.of('m0')).meshWindowTokens).toBeNull()
    expect((await modelFacts.of('m59')).meshWindowTokens).toBe(5000)
  })
})

test('the window is read from the list of models, by full name or by the bare one', () => {
  const list = { data: [{ id: 'lab/a', context_length: 5000 }, { id: 'lab/b' }, 7] }
  expect(readWindow(list, 'lab/a')).toBe(5000)
  expect(readWindow(list, 'a')).toBe(5000)
  expect(readWindow(list, 'lab/b')).toBeNull()
  expect(readWindow('x', 'a')).toBeNull()
})
