import { describe, expect, test } from 'vitest'
import { createTurns } from './turns.ts'

describe('work with common names', () => {
  test('work waits for all work with a common name, and for no other', async () => {
    const { take } = createTurns()
    const said: string[] = []
    const ends = new Map<string, () => void>()
    const begin = (what: string, ...names: string[]) =>
      take(names, async () => {
        said.push(what)
        await new Promise<void>((resolve) => ends.set(what, resolve))
        return what
      })
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const all = [
      begin('ab', 'a', 'b'),
      begin('b', 'b'),
      begin('c', 'c'),
      begin('free'),
      begin('ca', 'c', 'a'),
    ]
    await turn()
    expect(said).toEqual(['ab', 'c', 'free'])
    ends.get('ab')?.()
    await turn()
    expect(said).toEqual(['ab', 'c', 'free', 'b'])
    ends.get('c')?.()
    await turn()
    expect(said).toEqual(['ab', 'c', 'free', 'b', 'ca'])
    for (const what of ['b', 'free', 'ca']) ends.get(what)?.()
    expect(await Promise.all(all)).toEqual(['ab', 'b', 'c', 'free', 'ca'])
  })

  test('work continues when earlier work fails', async () => {
    const { take } = createTurns()
    const failed = take(['a'], async () => {
      throw new Error('no')
    })
    const next = take(['a'], async () => 'done')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('done')
  })
})

describe('idle', () => {
  test('idle resolves when all work ended, also work that was taken meanwhile', async () => {
    const turns = createTurns()
    const ends: (() => void)[] = []
    const work = () => new Promise<void>((resolve) => ends.push(resolve))
    let isIdle = false
    const first = turns.take(['a'], work)
    const idle = turns.idle().then(() => (isIdle = true))
    const second = turns.take(['b'], work)
    await new Promise((resolve) => setImmediate(resolve))
    ends[0]?.()
    await first
    await new Promise((resolve) => setImmediate(resolve))
    expect(isIdle).toBe(false)
    ends[1]?.()
    await second
    await idle
    expect(isIdle).toBe(true)
  })
})
