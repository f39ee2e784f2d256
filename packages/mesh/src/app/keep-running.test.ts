import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { keepRunning, loopRestartMs } from './keep-running.ts'

test('a loop that fails is restarted, and the work that it left running is aborted', async () => {
  const clock = createManualClock()
  const closing = new AbortController()
  const given: AbortSignal[] = []
  const failures: unknown[] = []
  const run = async (signal: AbortSignal): Promise<void> => {
    given.push(signal)
    if (given.length < 3) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  const log = { ...silentLog, error: (fields: object) => failures.push(fields) }
  const running = keepRunning({ name: 'board', run }, { clock, log, signal: closing.signal })
  await clock.settle()
  expect(given.length).toBe(1)
  expect(given[0]?.aborted).toBe(true)
  await clock.advance(loopRestartMs)
  await clock.advance(loopRestartMs)
  expect(given.map(({ aborted }) => aborted)).toEqual([true, true, false])
  expect(failures).toMatchObject([{ module: 'board' }, { module: 'board' }])
  closing.abort()
  await running
  expect(given.length).toBe(3)
})

test('a loop that fails while the mesh stops is not restarted', async () => {
  const closing = new AbortController()
  let begun = 0
  const run = async (): Promise<void> => {
    begun += 1
    closing.abort()
    throw new Error('the database is closed')
  }
  await keepRunning(
    { name: 'board', run },
    { clock: createManualClock(), log: silentLog, signal: closing.signal },
  )
  expect(begun).toBe(1)
})
