import { describe, expect, test } from 'vitest'
import { createKeyedMutex } from './keyed-mutex.ts'

describe('work with common names', () => {
  test('work waits for all work with a common name, and for no other', async () => {
    const { alone } = createKeyedMutex()
    const said: string[] = []
    const ends = new Map<string, () => void>()
    const begin = (what: string, ...names: string[]) =>
      alone(names, async () => {
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
    const { alone } = createKeyedMutex()
    const failed = alone(['a'], async () => {
      throw new Error('no')
    })
    const next = alone(['a'], async () => 'done')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('done')
  })
})
