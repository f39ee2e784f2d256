import type { AgentSizeSettings } from '@flotilla/foundation/config'
import type { Problem } from '@flotilla/protocol/problem'
import { afterEach, expect, test } from 'vitest'
import { aFleet, createManualRuntime, owner, patient, waitOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'
import { createMachineRoom } from './machine-room.ts'
import { agentSize, sizeMark } from '../../sandbox/default-agent-sizes.ts'

let harness: FleetHarness
afterEach(() => harness?.close())

const mb = 1024 * 1024
/** A machine with 4 GB for agents, besides the gigabyte for everything else. */
const capacity = { memoryBytes: 5 * 1024 * mb, cpus: 2 }

async function aSizedFleet(sizes: Record<string, AgentSizeSettings>, ids = Object.keys(sizes)) {
  const runtime = Object.assign(createManualRuntime(), { capacity: () => capacity })
  harness = await aFleet({ runtime, sizeSettings: (agentId) => sizes[agentId] ?? {} })
  for (const id of ids) await harness.fleet.admin.create(owner, { id, role: 'does work' })
  return { runtime, start: async (id: string) => harness.fleet.connection.ensureRunning(id, patient) }
}

test('what the owner leaves out has the default of the kind', () => {
  const usual = agentSize('worker')
  expect(agentSize('worker', { memory_mb: 1024 })).toEqual({ ...usual, memoryLimitBytes: 1024 * mb })
  const set = agentSize('worker', { cpus: 2, pids: 512, tmp_mb: 256 })
  expect(set.cpu.quotaUs / set.cpu.periodUs).toBe(2)
  expect(set).toMatchObject({
    pidsLimit: 512,
    tmpSizeBytes: 256 * mb,
    memoryLimitBytes: usual.memoryLimitBytes,
  })
  expect(sizeMark('worker', usual)).toBe('')
  expect(sizeMark('worker', set)).not.toBe('')
})

test('the repair of a size that is only requested names no setting', () => {
  const room = createMachineRoom({
    capacity: () => capacity,
    beside: () => [],
    agents: { list: () => [] },
    startedSizes: new Map(),
  })
  expect(() => room.requirePossible('a', agentSize('worker', { memory_mb: 5000 }))).toThrow(
    expect.objectContaining({ code: 'size-unavailable', repair: 'Choose a smaller size.' }),
  )
})

test('a sandbox gets the size of its agent, and a changed size before the next run', async () => {
  const sizes: Record<string, AgentSizeSettings> = { a: { memory_mb: 1024 } }
  const { runtime, start } = await aSizedFleet(sizes)
  await start('a')
  await start('a')
  expect(runtime.started.map(({ memoryLimitBytes }) => memoryLimitBytes / mb)).toEqual([1024])
  sizes['a'] = { memory_mb: 2048 }
  await start('a')
  expect(runtime.started.map(({ memoryLimitBytes }) => memoryLimitBytes / mb)).toEqual([1024, 2048])
})

test('of 20 agents that start at once, only as many start as fit, and the others say what they wait for', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `a${index}`)
  const { runtime, start } = await aSizedFleet(Object.fromEntries(ids.map((id) => [id, { memory_mb: 1024 }])))
  const ends = await Promise.allSettled(ids.map(start))
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
  expect(runtime.started).toHaveLength(4)
  const refused = ends.find((end) => end.status === 'rejected')
  expect(refused?.reason).toMatchObject({
    code: 'machine-full',
    detail: expect.stringMatching(
      /^agent a\d+ waits for 1024 MB of memory: 0 MB are free beside a\d+ \(1024 MB\), /,
    ),
  })
})

test('an agent that waited starts once another has stopped, and people see what it waits for until then', async () => {
  const { start } = await aSizedFleet({ a: { memory_mb: 3000 }, b: { memory_mb: 2000 } })
  await start('a')
  await expect(start('b')).rejects.toMatchObject({ code: 'machine-full' })
  expect(waitOf(harness.fleet, 'b')).toBe(
    'agent b waits for 2000 MB of memory: 1096 MB are free beside a (3000 MB)',
  )
  // Its work may have been cancelled since.
  expect(waitOf(harness.fleet, 'b', 0)).toBe(null)
  await harness.fleet.lifecycle.stop('a', 'the owner stops it')
  await start('b')
  expect(waitOf(harness.fleet, 'b')).toBe(null)
  await expect(start('a')).rejects.toMatchObject({ code: 'machine-full' })
})

test('an agent created again after its deletion does not wait for what its predecessor waited for', async () => {
  const { start } = await aSizedFleet({ a: { memory_mb: 3000 }, b: { memory_mb: 2000 } })
  await start('a')
  await expect(start('b')).rejects.toMatchObject({ code: 'machine-full' })
  await harness.fleet.admin.delete(owner, 'b')
  await harness.fleet.admin.create(owner, { id: 'b', role: 'does work' })
  expect(waitOf(harness.fleet, 'b')).toBe(null)
})

test('the sum is checked at its edge', async () => {
  const { start } = await aSizedFleet({
    a: { memory_mb: 2048 },
    b: { memory_mb: 2048 },
    c: { memory_mb: 385 },
  })
  await start('a')
  await start('b')
  await expect(start('c')).rejects.toMatchObject({ code: 'machine-full' })
})

test('agents of the default size always start, and count with a quarter of their limit', async () => {
  const { start } = await aSizedFleet({ a: { memory_mb: 4096 } }, ['a', 'b'])
  await start('a')
  await start('b')
  await harness.fleet.lifecycle.stop('a', 'the owner stops it')
  await expect(start('a')).rejects.toMatchObject({ detail: expect.stringContaining('b (96 MB)') })
})

test.each([
  ['less memory', { memory_mb: 256 }],
  ['the default memory and more processors', { cpus: 1 }],
])('an agent with %s counts the same while it starts and while it runs', async (_what, size) => {
  const { runtime, start } = await aSizedFleet({ small: size, large: { memory_mb: 4096 } })
  const whileItStarts = Promise.withResolvers<unknown>()
  runtime.beforeStart = async () => {
    runtime.beforeStart = async () => {}
    whileItStarts.resolve(await start('large').catch((error: unknown) => error))
  }
  await start('small')
  const before = await whileItStarts.promise
  expect(before).toMatchObject({ code: 'machine-full' })
  await expect(start('large')).rejects.toMatchObject({ detail: (before as Problem).detail })
})

test.each([
  ['memory', { memory_mb: 5000 }],
  ['processors', { cpus: 3 }],
])(
  'a size that the machine does not have is refused, and the agent does not wait: %s',
  async (_what, size) => {
    const { start } = await aSizedFleet({ a: size })
    await expect(start('a')).rejects.toMatchObject({ code: 'size-unavailable' })
  },
)

test('a failed start gives its memory back', async () => {
  const { runtime, start } = await aSizedFleet({ a: { memory_mb: 4096 }, b: { memory_mb: 4096 } })
  runtime.beforeStart = async () => {
    throw new Error('the engine failed')
  }
  await expect(start('a')).rejects.toMatchObject({ code: 'agent-unavailable' })
  runtime.beforeStart = async () => {}
  await start('b')
})

test('builds of images and browsers count while they run, and the wait names them', async () => {
  const { runtime, start } = await aSizedFleet({ a: { memory_mb: 3072 } })
  let beside = [
    { name: 'the browser of b', memoryBytes: 1024 * mb },
    { name: 'a build of an image', memoryBytes: 2048 * mb },
  ]
  runtime.beside = () => beside
  await expect(start('a')).rejects.toMatchObject({
    code: 'machine-full',
    detail: expect.stringMatching(
      /waits for 3072 MB of memory: 1024 MB are free beside a build of an image \(2048 MB\), the browser of b \(1024 MB\)/,
    ),
  })
  beside = beside.slice(0, 1)
  await start('a')
  expect(runtime.started).toHaveLength(1)
})
