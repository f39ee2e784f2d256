import { describe, expect, it } from 'vitest'
import { createFirstUse } from './first-use.ts'

function aPart() {
  const done: string[] = []
  const part = {
    metrics: () => [],
    run: async () => void done.push('run'),
    stop: () => void done.push('stop'),
    close: () => void done.push('close'),
  }
  return { part, done }
}

describe('a part that is loaded by its first use', () => {
  it('is loaded once by concurrent callers, and not before', async () => {
    const { part } = aPart()
    let loads = 0
    const firstUse = createFirstUse(async () => {
      loads += 1
      return part
    })
    expect(firstUse.loaded()).toBeNull()
    expect(loads).toBe(0)
    expect(await Promise.all([firstUse.use(), firstUse.use()])).toEqual([part, part])
    expect(loads).toBe(1)
    expect(firstUse.loaded()).toBe(part)
  })

  it('is loaded again after a failed load', async () => {
    const { part } = aPart()
    let fails = true
    const firstUse = createFirstUse(async () => {
      if (fails) throw new Error('no file')
      return part
    })
    await expect(firstUse.use()).rejects.toThrow('no file')
    fails = false
    expect(await firstUse.use()).toBe(part)
  })

  it('runs from its first use on', async () => {
    const { part, done } = aPart()
    const firstUse = createFirstUse(async () => part)
    const running = firstUse.hooks.run(new AbortController().signal)
    expect(done).toEqual([])
    await firstUse.use()
    await running
    expect(done).toEqual(['run'])
  })

  it('that was never used ends its loop with the signal, and has nothing to stop', async () => {
    const { part, done } = aPart()
    const stopping = new AbortController()
    const firstUse = createFirstUse(async () => part)
    const running = firstUse.hooks.run(stopping.signal)
    stopping.abort()
    await running
    await firstUse.hooks.stop()
    await firstUse.hooks.close()
    expect(done).toEqual([])
  })

  it('is stopped even if it is loading, and not loaded afterwards', async () => {
    const { part, done } = aPart()
    const file = Promise.withResolvers<void>()
    const firstUse = createFirstUse(async () => {
      await file.promise
      return part
    })
    const using = firstUse.use()
    const stopping = firstUse.hooks.stop()
    file.resolve()
    await Promise.all([using, stopping])
    expect(done).toEqual(['stop'])

    const unused = createFirstUse(async () => part)
    await unused.hooks.stop()
    await expect(unused.use()).rejects.toThrow('the mesh stops')
  })
})
