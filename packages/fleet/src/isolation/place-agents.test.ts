import { expect, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { RungTrial } from '../sandbox/sandbox-runtime.ts'
import type { WallReport } from '../sandbox/wall-report.ts'
import { createPlacing } from './place-agents.ts'

const preferred = { wanted: 'gvisor', floor: 'container' } as const
const required = { wanted: 'gvisor', floor: 'gvisor' } as const
const plain = { wanted: 'container', floor: 'container' } as const

const there: RungTrial = { available: true, detail: 'gVisor with platform ptrace', repair: '' }
const absent: RungTrial = { available: false, detail: 'runsc is not installed', repair: 'Install runsc.' }

function aPlacing({
  trial = there,
  walls = [],
  isolates = true,
}: {
  readonly trial?: RungTrial
  readonly walls?: readonly WallReport[]
  readonly isolates?: boolean
} = {}) {
  const harness = { trial, tried: 0 }
  const placing = createPlacing({
    runtime: {
      isolates,
      tryRung: async () => {
        harness.tried++
        return harness.trial
      },
    },
    wallsOf: async () => walls,
    log: silentLog,
  })
  return { placing, harness }
}

test('no level is tested before it is requested', async () => {
  const { placing, harness } = aPlacing()
  expect(await placing.place(plain)).toEqual({ rung: 'container', fallback: null })
  expect(harness.tried).toBe(0)
  expect(placing.views().map(({ available }) => available)).toEqual([true, null, null])
})

test('a level is tested once for all callers, and its walls are monitored from then on', async () => {
  const { placing, harness } = aPlacing()
  const placed = await Promise.all([placing.place(preferred), placing.place(required)])
  expect(placed).toEqual([
    { rung: 'gvisor', fallback: null },
    { rung: 'gvisor', fallback: null },
  ])
  expect(harness.tried).toBe(1)
  expect(placing.inUse()).toEqual(['gvisor'])
})

test('an agent that prefers an unavailable level runs in a container, with the reason', async () => {
  const { placing } = aPlacing({ trial: absent })
  expect(await placing.place(preferred)).toEqual({
    rung: 'container',
    fallback: 'gvisor is not available: runsc is not installed',
  })
  expect(placing.inUse()).toEqual([])
})

test('an agent that requires it does not run, and the problem has a repair', async () => {
  const { placing } = aPlacing({ trial: absent })
  await expect(placing.place(required)).rejects.toMatchObject({
    code: 'isolation-unavailable',
    detail: expect.stringContaining('runsc is not installed') as string,
    repair: expect.stringContaining('Install runsc.') as string,
  })
})

test('a level whose walls do not hold is unavailable', async () => {
  const walls = [{ id: 'gvisor-internet-closed', holds: false, detail: 'connected' }]
  const { placing } = aPlacing({ walls })
  expect(await placing.place(preferred)).toMatchObject({ rung: 'container' })
  await expect(placing.place(required)).rejects.toMatchObject({
    detail: expect.stringContaining('gvisor-internet-closed: connected') as string,
  })
})

test('an unavailable level is tested again when it is viewed, and an available one is not', async () => {
  const { placing, harness } = aPlacing({ trial: absent })
  await placing.place(preferred)
  harness.trial = there
  expect(await placing.place(preferred)).toMatchObject({ rung: 'container' })
  await placing.retry()
  expect(await placing.place(preferred)).toEqual({ rung: 'gvisor', fallback: null })
  await placing.retry()
  await placing.place(preferred)
  expect(harness.tried).toBe(2)
  placing.forget()
  await placing.place(preferred)
  expect(harness.tried).toBe(3)
})

test('one on which a start failed is tried again before the next', async () => {
  const { placing, harness } = aPlacing()
  await placing.place(preferred)
  placing.doubt('gvisor')
  harness.trial = absent
  expect(await placing.place(preferred)).toMatchObject({ rung: 'container' })
})

test('plain processes do not satisfy a requirement of walls', async () => {
  const { placing } = aPlacing({ isolates: false })
  expect(await placing.place(preferred)).toEqual({ rung: 'container', fallback: null })
  await expect(placing.place(required)).rejects.toMatchObject({ code: 'isolation-unavailable' })
})

test('one that an adopted agent runs on is looked after without being tried', async () => {
  const { placing, harness } = aPlacing()
  placing.adopted('gvisor')
  expect(placing.inUse()).toEqual(['gvisor'])
  expect(harness.tried).toBe(0)
})
