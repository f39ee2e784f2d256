import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import type { Caller, HumanCaller } from '../../../identity/src/access/index.ts'
import { createIdentityEvents } from '../../../identity/src/events/identity-events.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createFleetEvents } from '../events/fleet-events.ts'
import { createAgentImages } from './agent-images.ts'

const owner: HumanCaller = { kind: 'human', role: 'owner', channel: 'cli' }
const image = `tools@sha256:${'ab'.repeat(32)}`

/** The images of a fleet with the worker `root`, its descendant `spawn_a`, and `packed`, which has packages. */
function imaged(
  refusal: Problem | null = null,
  set: Readonly<Record<string, unknown>> = {},
  make: (signal: AbortSignal | undefined) => Promise<void> = async () => {},
) {
  const fleetEvents = createFleetEvents(silentLog)
  const identityEvents = createIdentityEvents()
  identityEvents.makersOf.subscribe((agentId) => (agentId === 'spawn_a' ? ['root'] : []))
  let ofRoot: Readonly<Record<string, unknown>> = set
  const rows: unknown[] = []
  const tested: string[] = []
  const settings = () => ({ agents: { root: ofRoot }, egress: { allowed_hosts: {} } }) as never
  const images = createAgentImages({
    guard: () => {},
    journal: { append: (row) => void rows.push(row) },
    settingsFile: {
      current: settings,
      editAll: async (edit) => {
        const edited = edit(settings()).map(({ field, value }) => [field.at(-1), value])
        ofRoot = { ...ofRoot, ...Object.fromEntries(edited) }
      },
    },
    fleetEvents,
    identityEvents,
    registry: {
      require: (id: string) => (id === 'ghost' ? missingAgent(id) : { id, kind: 'worker' }) as never,
    },
    packages: {
      listOf: (id) => ({ apt: id === 'packed' ? ['jq'] : [], npm: [], pip: [] }),
      ownImage: async (reference, signal) => {
        tested.push(reference)
        await make(signal)
        if (refusal !== null) throw refusal
      },
    },
  })
  return { images, rows, tested, fleetEvents, ofRoot: () => ofRoot }
}

test('an image is tested and then set, shown for descendants, and removed by null', async () => {
  const { images, rows, tested } = imaged()
  expect(await images.set(owner, 'root', { image })).toEqual({ agent_id: 'root', set_at: 'root', image })
  expect(images.view(owner, 'spawn_a')).toEqual({ agent_id: 'spawn_a', set_at: 'root', image })
  expect(await images.set(owner, 'root', { image: null })).toMatchObject({ image: null })
  expect(tested).toEqual([image])
  expect(rows).toMatchObject([
    { action: 'agent.image-set', subject: 'root', detail: { image } },
    { action: 'agent.image-set', subject: 'root', detail: { image: '' } },
  ])
})

test('an agent that gets the agent image again gets the package of its harness, which its own image had', async () => {
  const { images, ofRoot } = imaged(null, { image, harness: 'opencode' })
  await images.set(owner, 'root', { image: null })
  expect(ofRoot()).toEqual({ image: undefined, harness: 'opencode', packages: { npm: ['opencode-ai'] } })
})

test('an image that is refused changes nothing, and the reason is in the answer', async () => {
  const refusal = new Problem('packages-unavailable', {
    detail: 'cannot run /bin/sh',
    repair: 'Name another.',
  })
  const { images, rows } = imaged(refusal)
  await expect(images.set(owner, 'root', { image })).rejects.toMatchObject({
    code: 'unprocessable',
    detail: 'cannot run /bin/sh',
    repair: 'Name another.',
  })
  expect(images.view(owner, 'root').image).toBe(null)
  expect(rows).toEqual([])
})

test('an image is refused beside packages, and for an agent that agents created', async () => {
  const { images, tested } = imaged()
  await expect(images.set(owner, 'packed', { image })).rejects.toMatchObject({ code: 'conflict' })
  await expect(images.set(owner, 'spawn_a', { image })).rejects.toMatchObject({
    code: 'conflict',
    repair: expect.stringContaining('root'),
  })
  await expect(images.set(owner, 'ghost', { image })).rejects.toMatchObject({ code: 'unknown-agent' })
  expect(tested).toEqual([])
})

test.each<[string, Caller]>([
  ['a member', { kind: 'human', role: 'member', channel: 'dashboard' }],
  ['an agent', { kind: 'agent', agentId: 'root', agentKind: 'operator' } as unknown as Caller],
])('%s cannot set an image, and nothing is fetched', async (_, caller) => {
  const { images, tested } = imaged()
  await expect(images.set(caller, 'root', { image })).rejects.toMatchObject({ code: 'human-only' })
  expect(tested).toEqual([])
})

test('a deletion of the agent, and a caller who leaves, end the wait for an image at once and set nothing', async () => {
  const untilAborted = (signal: AbortSignal | undefined) =>
    new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const { images, rows, fleetEvents } = imaged(null, {}, untilAborted)
  const deleted = images.set(owner, 'root', { image })
  fleetEvents.agentDeleted.publish('root')
  await expect(deleted).rejects.toMatchObject({ code: 'conflict' })
  const gone = new AbortController()
  const left = images.set(owner, 'root', { image, signal: gone.signal })
  gone.abort(new Error('the client has gone'))
  await expect(left).rejects.toThrow('the client has gone')
  expect(rows).toEqual([])
})
