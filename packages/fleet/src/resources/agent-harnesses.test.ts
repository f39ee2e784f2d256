import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { harnessPackages } from '@flotilla/protocol/agent-harness'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import type { Harness } from '@flotilla/protocol/harness'
import { harnessNames } from '@flotilla/protocol/harness-variable'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Caller, HumanCaller } from '../../../identity/src/access/index.ts'
import { createIdentityEvents } from '../../../identity/src/events/identity-events.ts'
import { createAgentHarnesses } from './agent-harnesses.ts'

const owner: HumanCaller = { kind: 'human', role: 'owner', channel: 'dashboard' }

interface OfRoot {
  readonly image?: string
  readonly harness?: Harness
  readonly packages?: PackageList
}

/** The harnesses of a fleet with the worker `root`, whose settings are `set`, and its descendant `spawn_a`. */
function harnessed(set: OfRoot = {}) {
  const identityEvents = createIdentityEvents()
  identityEvents.makersOf.subscribe((agentId) => (agentId === 'spawn_a' ? ['root'] : []))
  let ofRoot = set
  const rows: unknown[] = []
  const settings = () => ({ agents: { root: ofRoot }, egress: { allowed_hosts: {} } }) as never
  const harnesses = createAgentHarnesses({
    guard: () => {},
    journal: { append: (row) => void rows.push(row) },
    settingsFile: {
      current: settings,
      editAll: async (edit) => {
        const made = edit(settings())
        const edited = made.map(({ field, value }) => [field.at(-1), value])
        const all = Object.entries({ ...ofRoot, ...Object.fromEntries(edited) })
        ofRoot = Object.fromEntries(all.filter(([, value]) => value !== undefined))
      },
    },
    identityEvents,
    registry: {
      require: (id: string) => (id === 'ghost' ? missingAgent(id) : { id, kind: 'worker' }) as never,
    },
  })
  return { harnesses, rows, ofRoot: () => ofRoot }
}

test('a known harness is set with its package, which is added once and stays when the harness goes', async () => {
  const { harnesses, rows, ofRoot } = harnessed({ packages: { apt: ['jq'] } })
  expect(harnesses.view(owner, 'spawn_a')).toEqual({ agent_id: 'spawn_a', set_at: 'root', harness: null })
  const view = await harnesses.set(owner, 'root', { harness: 'codex', seen: null })
  expect(view).toEqual({ agent_id: 'root', set_at: 'root', harness: 'codex' })
  const packages = { apt: ['jq'], npm: ['@zed-industries/codex-acp'] }
  expect(ofRoot()).toEqual({ harness: 'codex', packages })
  await harnesses.set(owner, 'root', { harness: 'codex' })
  await harnesses.set(owner, 'root', { harness: null, seen: 'codex' })
  expect(ofRoot()).toEqual({ packages })
  expect(rows).toMatchObject([
    { action: 'agent.harness-set', subject: 'root', detail: { harness: 'codex' } },
    { detail: { harness: 'codex' } },
    { detail: { harness: null } },
  ])
})

test('a version that the owner chose is not replaced, and a package with a longer name is another one', async () => {
  const pinned = harnessed({ packages: { npm: ['opencode-ai@1.18.33'] } })
  await pinned.harnesses.set(owner, 'root', { harness: 'opencode' })
  expect(pinned.ofRoot().packages).toEqual({ npm: ['opencode-ai@1.18.33'] })
  const other = harnessed({ packages: { npm: ['opencode-ai-extra'] } })
  await other.harnesses.set(owner, 'root', { harness: 'opencode' })
  expect(other.ofRoot().packages).toEqual({ npm: ['opencode-ai-extra', 'opencode-ai'] })
})

test('a command gets no package', async () => {
  const { harnesses, ofRoot } = harnessed()
  await harnesses.set(owner, 'root', { harness: { command: ['my-agent', 'acp'] } })
  expect(ofRoot()).toEqual({ harness: { command: ['my-agent', 'acp'] } })
})

test('an agent with an image of the owner gets a harness without its package, with which it could not start', async () => {
  const image = `tools@sha256:${'ab'.repeat(32)}`
  const { harnesses, ofRoot } = harnessed({ image })
  await harnesses.set(owner, 'root', { harness: 'opencode' })
  expect(ofRoot()).toEqual({ image, harness: 'opencode' })
})

test('a harness that another person changed, and that of an agent that agents created, are refused', async () => {
  const { harnesses, ofRoot, rows } = harnessed({ harness: 'codex' })
  await expect(harnesses.set(owner, 'root', { harness: 'gemini', seen: 'opencode' })).rejects.toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('in the meantime'),
  })
  await expect(harnesses.set(owner, 'spawn_a', { harness: 'gemini' })).rejects.toMatchObject({
    code: 'conflict',
    repair: 'Change the harness of root.',
  })
  expect(() => harnesses.view(owner, 'ghost')).toThrow(expect.objectContaining({ code: 'unknown-agent' }))
  expect([ofRoot(), rows]).toEqual([{ harness: 'codex' }, []])
})

test('only a person at the terminal or the dashboard changes a harness', async () => {
  const { harnesses, ofRoot } = harnessed()
  const chat: Caller = { ...owner, channel: 'telegram' }
  await expect(harnesses.set(chat, 'root', { harness: 'codex' })).rejects.toMatchObject({
    code: 'human-only',
  })
  expect(ofRoot()).toEqual({})
})

test('the guide names the package of each known harness', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guide/harness.md'), 'utf8')
  for (const name of harnessNames)
    expect(guide).toMatch(new RegExp(`\`${name}\` +\\| \`${harnessPackages[name]}\``))
})
