import { expect, test } from 'vitest'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { silentLog } from '../log.ts'
import type { WallReport } from '../sandbox/sandbox-runtime.ts'
import { createWallWatch } from './watch-walls.ts'

function aWatch(look: () => Promise<readonly WallReport[]>) {
  const published: FleetEventBody[] = []
  const watch = createWallWatch({
    runtime: { isolates: true, verifyWalls: look },
    doorPort: () => 8420,
    clock: { now: () => 5, sleep: async () => {} },
    events: {
      publish: (body) => void published.push(body),
      since: () => [],
      subscribe: () => () => {},
      droppedUntil: () => 0,
      lastSeq: () => 0,
    },
    journal: { append: () => {} },
    log: silentLog,
  })
  return { watch, published }
}

const held: WallReport = { id: 'tmp-noexec', holds: true, detail: 'refused' }
const fallen: WallReport = { id: 'host-ports-closed', holds: false, detail: 'the canary answered' }

test('before the first look no agent may run', () => {
  expect(aWatch(async () => [held]).watch.state().broken).not.toBeNull()
})

test('agents may run once every wall held', async () => {
  const { watch } = aWatch(async () => [held])
  expect((await watch.verify()).broken).toBeNull()
})

test('one wall that does not hold stops everything, with its reason, and is announced', async () => {
  const { watch, published } = aWatch(async () => [held, fallen])
  expect((await watch.verify()).broken).toBe('host-ports-closed: the canary answered')
  expect(published).toEqual([
    { type: 'wall.failed', wall_id: 'host-ports-closed', detail: 'the canary answered' },
  ])
})

test('a probe that cannot run counts as a wall that does not hold', async () => {
  const { watch } = aWatch(() => Promise.reject(new Error('no engine')))
  expect((await watch.verify()).broken).toBe('probe-ran: no engine')
})

test('a mended wall lets agents run again', async () => {
  let walls = [fallen]
  const { watch } = aWatch(async () => walls)
  await watch.verify()
  walls = []
  expect((await watch.verify()).broken).toBeNull()
})

test('looks asked for at the same time are one look', async () => {
  let looks = 0
  const { watch } = aWatch(async () => {
    looks++
    return [held]
  })
  await Promise.all([watch.verify(), watch.verify(), watch.verify()])
  expect(looks).toBe(1)
})
