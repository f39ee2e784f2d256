/** Which package may import which, as data. `architecture.test.ts` runs the rules. */

export interface Edge {
  readonly from: string
  readonly to: readonly string[]
  readonly why: string
}

/** Which package of this repository may import which other. */
export const packageEdges: readonly Edge[] = [
  { from: 'protocol', to: [], why: 'both sides of a boundary depend on it, so it depends on no package' },
  { from: 'client', to: ['protocol'], why: 'speaks the people’s API and nothing else' },
  {
    from: 'agent',
    to: ['protocol'],
    why: 'runs in the container, which must not contain code of the mesh',
  },
  {
    from: 'browser',
    to: ['protocol'],
    why: 'runs beside pages of strangers, without code of the mesh or the agent',
  },
  { from: 'dashboard', to: ['client', 'protocol'], why: 'speaks the people’s API and nothing else' },
  { from: 'cli', to: ['client', 'protocol'], why: 'starts the mesh as a process and never imports it' },
]

export interface MeshPackage {
  readonly name: string
  readonly holds: string
}

/**
 * The packages of the trusted host, one for each context, from the lowest up: each may import `protocol` and only
 * packages listed above its own line. The outer zones import none of them.
 */
export const meshPackages: readonly MeshPackage[] = [
  { name: 'foundation', holds: 'database, clock, log, audit log, files of the owner, bounds' },
  { name: 'identity', holds: 'callers, permissions, roles and the servers that authenticate them' },
  { name: 'fleet', holds: 'the life of an agent and its container' },
  { name: 'work', holds: 'the run ledger, tasks, approvals, pauses and spawned agents' },
  { name: 'egress', holds: 'every connection to the outside, and the secrets that may be sent there' },
  { name: 'inference', holds: 'model calls, their cost and their records' },
  {
    name: 'collaboration',
    holds: 'what agents share: blackboard, artifacts, notes, messages, topics, projects',
  },
  { name: 'browsing', holds: 'the browsers of agents' },
  { name: 'wallet', holds: 'the wallets of agents and their payments' },
  { name: 'inbound', holds: 'chat platforms and triggers, each of which submits runs' },
  { name: 'operations', holds: 'what the owner uses: backup, diagnostics, templates, setup, telemetry' },
  { name: 'mesh', holds: 'the composition and the process' },
]

/**
 * Folders of the zones outside the mesh that import each other. A pair may only be removed: a reader of one of the two
 * has to read both.
 */
export const mutualFolders: readonly (readonly [one: string, other: string])[] = [
  ['packages/agent/src/builtin-tools', 'packages/agent/src/subagents'],
  ['packages/agent/src/context', 'packages/agent/src/loop'],
  ['packages/agent/src/images', 'packages/agent/src/llm'],
  ['packages/browser/src/actions', 'packages/browser/src/tabs'],
  ['packages/cli/src/commands', 'packages/cli/src/demo'],
  ['packages/cli/src/commands', 'packages/cli/src/repl'],
  ['packages/dashboard/src/app', 'packages/dashboard/src/data'],
  ['packages/dashboard/src/app', 'packages/dashboard/src/design'],
  ['packages/dashboard/src/app', 'packages/dashboard/src/pages'],
  ['packages/dashboard/src/data', 'packages/dashboard/src/live'],
  ['packages/dashboard/src/pages/agent', 'packages/dashboard/src/pages/fleet'],
]
