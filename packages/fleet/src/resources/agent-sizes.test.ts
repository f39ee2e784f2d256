import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { agentSettingsSchema } from '@flotilla/foundation/config'
import { agentSizeBounds, agentSizeNames, agentSizeSchema } from '@flotilla/protocol/agent-size'
import type { AgentSizeSet } from '@flotilla/protocol/agent-size'
import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import type { Caller, HumanCaller } from '../../../identity/src/access/index.ts'
import { createIdentityEvents } from '../../../identity/src/events/identity-events.ts'
import { createAgentSizes } from './agent-sizes.ts'

const owner: HumanCaller = { kind: 'human', role: 'owner', channel: 'dashboard' }

/** The sizes of a fleet with the worker `root`, whose size is `set`, and its descendant `spawn_a`. */
function sized(set?: AgentSizeSet) {
  const identityEvents = createIdentityEvents()
  identityEvents.makersOf.subscribe((agentId) => (agentId === 'spawn_a' ? ['root'] : []))
  let settings = { agents: set === undefined ? {} : { root: { size: set } }, egress: { allowed_hosts: {} } }
  const edits: unknown[] = []
  const rows: unknown[] = []
  const sizes = createAgentSizes({
    guard: () => {},
    journal: { append: (row) => void rows.push(row) },
    settingsFile: {
      current: () => settings as never,
      editAll: async (edit) => {
        const made = edit(settings as never)
        edits.push(...made)
        const value = made[0]?.value as AgentSizeSet | undefined
        settings = { ...settings, agents: value === undefined ? {} : { root: { size: value } } }
      },
    },
    identityEvents,
    registry: {
      require: (id: string) => (id === 'ghost' ? missingAgent(id) : { id, kind: 'worker' }) as never,
    },
    room: {
      capacity: () => null,
      requirePossible: (_agentId, { memoryLimitBytes }) => {
        if (memoryLimitBytes > 4096 * 1024 * 1024)
          throw new Problem('size-unavailable', { detail: 'too large' })
      },
    },
  })
  return { sizes, edits, rows }
}

test('a view shows what the owner set, the limits that follow, and those without a setting', () => {
  const { sizes } = sized({ memory_mb: 1024 })
  const preset = { memory_mb: 384, cpus: 0.15, pids: 256, tmp_mb: 100 }
  expect(sizes.view(owner, 'spawn_a')).toEqual({
    agent_id: 'spawn_a',
    set_at: 'root',
    set: { memory_mb: 1024 },
    size: { ...preset, memory_mb: 1024 },
    preset,
  })
  expect(() => sizes.view(owner, 'ghost')).toThrow(expect.objectContaining({ code: 'unknown-agent' }))
})

test('a change replaces the whole setting, an empty one removes it, and both are in the audit log', async () => {
  const { sizes, edits, rows } = sized({ memory_mb: 1024, pids: 512 })
  const changed = await sizes.set(owner, 'root', {
    size: { memory_mb: 2048 },
    seen: { memory_mb: 1024, pids: 512 },
  })
  expect(changed).toMatchObject({ set: { memory_mb: 2048 }, size: { memory_mb: 2048, pids: 256 } })
  await sizes.set(owner, 'root', { size: {} })
  const field = ['agents', 'root', 'size']
  expect(edits).toEqual([
    { field, value: { memory_mb: 2048 } },
    { field, value: undefined },
  ])
  expect(rows).toMatchObject([
    { action: 'agent.size-set', subject: 'root', detail: { memory_mb: 2048 } },
    { action: 'agent.size-set', subject: 'root', detail: {} },
  ])
})

test('a change of a setting that another person changed is refused and writes nothing', async () => {
  const { sizes, edits, rows } = sized({ memory_mb: 1024 })
  await expect(sizes.set(owner, 'root', { size: { memory_mb: 2048 }, seen: {} })).rejects.toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('in the meantime'),
  })
  expect([edits, rows]).toEqual([[], []])
})

test('the size of an agent that agents created is refused, and the refusal names its root ancestor', async () => {
  const { sizes, edits } = sized()
  await expect(sizes.set(owner, 'spawn_a', { size: { memory_mb: 512 } })).rejects.toMatchObject({
    code: 'conflict',
    repair: 'Change the size of root.',
  })
  expect(edits).toEqual([])
})

test('a size that the machine does not have is refused and writes nothing', async () => {
  const { sizes, edits, rows } = sized()
  const size = { memory_mb: 8192 }
  await expect(sizes.set(owner, 'root', { size })).rejects.toMatchObject({ code: 'size-unavailable' })
  expect([edits, rows]).toEqual([[], []])
})

test('only a person at the terminal or the dashboard changes a size', async () => {
  const { sizes, edits } = sized()
  const chat: Caller = { ...owner, channel: 'telegram' }
  await expect(sizes.set(chat, 'root', { size: {} })).rejects.toMatchObject({ code: 'human-only' })
  expect(edits).toEqual([])
})

test.each(agentSizeNames)('the API and the settings file accept the same values of %s', (name) => {
  const { min, max } = agentSizeBounds[name]
  for (const value of [min - 0.01, min, max, max + 1])
    expect(agentSettingsSchema.safeParse({ size: { [name]: value } }).success).toBe(
      agentSizeSchema.safeParse({ [name]: value }).success,
    )
})
