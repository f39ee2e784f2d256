import { describe, expect, test } from 'vitest'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { WallReport } from '../sandbox/wall-report.ts'
import { createIsolation } from './watch-isolation.ts'

function aWatch(look: () => Promise<readonly WallReport[]>) {
  const back = new Set<() => void>()
  const published: FleetEventBody[] = []
  const watch = createIsolation({
    runtime: {
      isolates: true,
      checkIsolation: look,
      tryRung: async () => ({ available: true, detail: '', repair: '' }),
      onEngineBack: (listener) => {
        back.add(listener)
        return () => back.delete(listener)
      },
    },
    atLeast: null,
    agentPort: () => 8420,
    guard: () => {},
    clock: { now: () => 5, sleep: (_ms, signal) => untilAborted(signal) },
    events: {
      publish: (body) => void published.push(body),
      since: () => [],
      subscribe: () => () => {},
      ofRun: () => [],
      droppedUntil: () => 0,
      lastSeq: () => 0,
    },
    journal: { append: () => {} },
    log: silentLog,
  })
  const comeBack = () => back.forEach((listener) => listener())
  return { watch, published, back, comeBack }
}

function untilAborted(signal?: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })
}

const held: WallReport = { id: 'tmp-noexec', holds: true, detail: 'refused' }
const fallen: WallReport = { id: 'host-ports-closed', holds: false, detail: 'the canary answered' }

test('before the first check no agent may run', () => {
  heedsLesson(28)
  expect(aWatch(async () => [held]).watch.state().broken).not.toBeNull()
})

test('agents may run once every wall held', async () => {
  const { watch } = aWatch(async () => [held])
  expect((await watch.check()).broken).toBeNull()
})

test('one wall that does not hold stops everything, with its reason, and is announced', async () => {
  heedsLesson(28)
  const { watch, published } = aWatch(async () => [held, fallen])
  expect((await watch.check()).broken).toBe('host-ports-closed: the canary answered')
  expect(published).toEqual([
    { type: 'wall.failed', wall_id: 'host-ports-closed', detail: 'the canary answered' },
  ])
})

test('a probe that cannot run counts as a wall that does not hold', async () => {
  const { watch } = aWatch(() => Promise.reject(new Error('no engine')))
  expect((await watch.check()).broken).toBe('probe-ran: no engine')
})

test('a mended wall lets agents run again', async () => {
  let walls = [fallen]
  const { watch } = aWatch(async () => walls)
  await watch.check()
  walls = []
  expect((await watch.check()).broken).toBeNull()
})

test('checks asked for at the same time are one', async () => {
  let looks = 0
  const { watch } = aWatch(async () => {
    looks++
    return [held]
  })
  await Promise.all([watch.check(), watch.check(), watch.check()])
  expect(looks).toBe(1)
})

describe('when the engine comes back', () => {
  test('nothing is believed until the walls were tried again', async () => {
    let walls = [held]
    const { watch, comeBack, back } = aWatch(async () => walls)
    await watch.check()
    const stop = new AbortController()
    const watching = watch.watch(stop.signal)
    walls = [fallen]
    comeBack()
    expect(watch.state().broken).toContain('the container engine did not answer')
    await expect.poll(() => watch.state().broken).toBe('host-ports-closed: the canary answered')
    walls = [held]
    comeBack()
    await expect.poll(() => watch.state().broken).toBeNull()
    stop.abort()
    await watching
    expect(back.size).toBe(0)
  })

  test('a check that was under way does not count', async () => {
    const looks: ((walls: readonly WallReport[]) => void)[] = []
    const { watch, comeBack } = aWatch(() => new Promise((resolve) => looks.push(resolve)))
    const stop = new AbortController()
    const watching = watch.watch(stop.signal)
    const first = watch.check()
    comeBack()
    looks[0]?.([held])
    await first
    await expect.poll(() => looks.length).toBe(2)
    expect(watch.state().broken).not.toBeNull()
    looks[1]?.([held])
    await expect.poll(() => watch.state().broken).toBeNull()
    stop.abort()
    await watching
  })
})
