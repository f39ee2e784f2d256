import type { PackageList } from '@flotilla/protocol/agent-packages'
import { expect, test } from 'vitest'
import type { HumanCaller } from '../../../identity/src/access/index.ts'
import { createIdentityEvents } from '../../../identity/src/events/identity-events.ts'
import { createManagePackages } from './manage-packages.ts'

const owner: HumanCaller = { kind: 'human', role: 'owner', channel: 'cli' }

/** The owner's operations in a fleet with the agent `root` and its descendants `spawn_a` and `spawn_b`. */
function managed() {
  const makers: Readonly<Record<string, string>> = { spawn_a: 'root', spawn_b: 'spawn_a' }
  const identityEvents = createIdentityEvents()
  identityEvents.makersOf.subscribe((agentId) => [makers[agentId] ?? []].flat())
  const edits: unknown[] = []
  const list: PackageList = {}
  const manage = createManagePackages({
    guard: () => {},
    journal: { append: () => {} },
    settingsFile: {
      current: () => ({ agents: {}, egress: { allowed_hosts: {} } }) as never,
      editAll: async (edit) => void edits.push(edit({} as never)),
    },
    identityEvents,
    registry: { require: () => ({}) as never, list: () => [] },
    packages: {
      listOf: () => ({ apt: [], npm: [], pip: [], ...list }),
      hasOwnImage: (agentId: string) => agentId === 'pinned',
    } as never,
  })
  return { manage, edits }
}

test('packages of an agent that agents created are refused, and the refusal names its root ancestor', async () => {
  const { manage, edits } = managed()
  for (const id of ['spawn_a', 'spawn_b']) {
    await expect(manage.set(owner, id, { apt: ['jq'] })).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('packages of root'),
      repair: expect.stringContaining('flotilla packages set root'),
    })
  }
  expect(edits).toEqual([])
  await manage.set(owner, 'root', { apt: ['jq'] })
  expect(edits).toEqual([[{ field: ['agents', 'root', 'packages'], value: { apt: ['jq'] } }]])
})

test('an agent with an image of the owner gets no packages, but can lose those that it has', async () => {
  const { manage, edits } = managed()
  await expect(manage.set(owner, 'pinned', { toolboxes: ['go'] })).rejects.toMatchObject({
    code: 'conflict',
    repair: expect.stringContaining('flotilla image set pinned --none'),
  })
  expect(edits).toEqual([])
  await manage.set(owner, 'pinned', {})
  expect(edits).toEqual([[{ field: ['agents', 'pinned', 'packages'], value: undefined }]])
})
