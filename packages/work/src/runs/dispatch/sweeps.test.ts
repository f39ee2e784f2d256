import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { runSweeps, sweepIntervalMs } from './sweeps.ts'

test('a sweep that throws is logged, and stops neither the others nor the next round', async () => {
  heedsLesson(63)
  const clock = createManualClock()
  const closing = new AbortController()
  const fault = new Error('defect')
  const heard: unknown[] = []
  const rounds = { bad: 0, good: 0 }
  const running = runSweeps({
    sweeps: [
      {
        name: 'bad',
        run: () => {
          rounds.bad++
          throw fault
        },
      },
      { name: 'good', run: () => rounds.good++ },
    ],
    clock,
    log: { ...silentLog, error: (fields: unknown) => heard.push(fields) },
    signal: closing.signal,
  })
  await clock.advance(sweepIntervalMs)
  expect(rounds).toEqual({ bad: 2, good: 2 })
  expect(heard).toEqual([
    { sweep: 'bad', err: fault },
    { sweep: 'bad', err: fault },
  ])
  closing.abort()
  await running
})
