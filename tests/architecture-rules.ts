/** The conventions of this repository as data. `architecture.test.ts` runs them; every entry says why. */

export interface MeshModule {
  /** Path from the root of the repository. */
  readonly folder: string
  readonly holds: string
}

/**
 * The modules of the mesh, from the lowest up: each may import only modules listed above its own line, so that no
 * import cycle is possible. `main.ts` and `app/` of the package mesh come after all of
 * them; the package testing is for tests only.
 */
export const meshModules: readonly MeshModule[] = [
  { folder: 'packages/foundation/src/platform', holds: 'the clock, chance, the log, the version' },
  { folder: 'packages/foundation/src/config', holds: 'files that the owner writes, and where they are' },
  { folder: 'packages/foundation/src/storage', holds: 'the database, its migrations, its room on the disk' },
  { folder: 'packages/foundation/src/lease', holds: 'the lease by which one mesh at a time works on a home' },
  {
    folder: 'packages/foundation/src/intake',
    holds: 'bounds on untrusted input before it is parsed, and the share of each agent',
  },
  { folder: 'packages/foundation/src/journal', holds: 'the sealed record of what was done' },
  { folder: 'packages/foundation/src/events', holds: 'the events that pages and channels show' },
  { folder: 'packages/fleet/src/sandbox', holds: 'the port of what an agent runs in, and its adapters' },
  { folder: 'packages/identity/src/access', holds: 'callers, permission records, rate limits' },
  { folder: 'packages/identity/src/policy', holds: 'the owner’s rules about effects of agents' },
  {
    folder: 'packages/foundation/src/effects',
    holds: 'calls of agents that change something, carried out once for each idempotency key',
  },
  { folder: 'packages/identity/src/http', holds: 'servers, gates and the binding of endpoints' },
  { folder: 'packages/identity/src/kernel', holds: 'what every module receives' },
  { folder: 'packages/identity/src/events', holds: 'events about callers and people' },
  {
    folder: 'packages/identity/src/people',
    holds: 'the people who may use the people’s API, with their roles and tokens',
  },
  { folder: 'packages/fleet/src/events', holds: 'events about agents and their sandboxes' },
  { folder: 'packages/fleet/src/isolation', holds: 'the result of the isolation checks' },
  { folder: 'packages/fleet/src/agents', holds: 'registry, lifecycle and connection of agents' },
  { folder: 'packages/fleet/src/resources', holds: 'what the owner gives to agents: packages and sizes' },
  { folder: 'packages/work/src/events', holds: 'events about runs and tasks' },
  { folder: 'packages/work/src/runs', holds: 'the run ledger: submit, dispatch, steering, delivery' },
  { folder: 'packages/work/src/tasks', holds: 'hand-offs among agents; each ends in submitRun' },
  {
    folder: 'packages/work/src/approvals',
    holds: 'actions that wait for a person, each carried out at most once',
  },
  {
    folder: 'packages/work/src/pauses',
    holds: 'stops the work that no person has requested, of an agent or of the fleet',
  },
  { folder: 'packages/work/src/harness', holds: 'what programs that drive agents ask for' },
  { folder: 'packages/egress/src/events', holds: 'events about requests of agents to the owner' },
  {
    folder: 'packages/egress/src/credentials',
    holds: 'the vault, its handles, requests of agents to the owner',
  },
  { folder: 'packages/inference/src/events', holds: 'questions about what was changed' },
  {
    folder: 'packages/inference/src/spending',
    holds: 'money: reserve, settle, refund, report, and the budgets',
  },
  { folder: 'packages/work/src/spawning', holds: 'agents that agents create for one task' },
  {
    folder: 'packages/inference/src/models',
    holds: 'the model gateway, its wire formats, providers and catalog',
  },
  {
    folder: 'packages/inference/src/replay',
    holds: 'records of model calls of a run, their replay and forks',
  },
  {
    folder: 'packages/egress/src/egress',
    holds: 'outbound connections: filter, proxy, fetch, search, MCP servers',
  },
  {
    folder: 'packages/egress/src/inspection',
    holds: 'terminates TLS for hosts that the owner names, and decides each request to them',
  },
  {
    folder: 'packages/browsing/src',
    holds: 'browsers of agents: sessions, actions, screens for people',
  },
  { folder: 'packages/collaboration/src/events', holds: 'events about files and projects' },
  { folder: 'packages/collaboration/src/blackboard', holds: 'entries that agents share' },
  {
    folder: 'packages/collaboration/src/artifacts',
    holds: 'files that agents save for people and each other',
  },
  { folder: 'packages/collaboration/src/notes', holds: 'notes of agents to the owner' },
  {
    folder: 'packages/collaboration/src/messages',
    holds: 'messages between agents; each starts a run or is stored',
  },
  { folder: 'packages/collaboration/src/topics', holds: 'signals to subscribed agents' },
  {
    folder: 'packages/collaboration/src/projects',
    holds: 'members, goal and context of a project',
  },
  { folder: 'packages/collaboration/src', holds: 'the modules of this folder, created together' },
  { folder: 'packages/egress/src/skills', holds: 'the check of a skill’s source before an agent may run it' },
  { folder: 'packages/operations/src/control', holds: 'actions of people and the operator on agents' },
  {
    folder: 'packages/wallet/src',
    holds: 'the sealed seed of all wallets, their addresses, and payments',
  },
  {
    folder: 'packages/inbound/src/triggers/conditions',
    holds: 'pure: the conditions that an owner writes as `when`',
  },
  {
    folder: 'packages/inbound/src/triggers/heartbeat',
    holds: 'scheduled runs in which an agent checks for work',
  },
  { folder: 'packages/inbound/src/triggers/cron', holds: 'cron jobs' },
  { folder: 'packages/inbound/src/triggers/webhook', holds: 'deliveries of other systems' },
  { folder: 'packages/inbound/src/triggers/watch', holds: 'files that change' },
  {
    folder: 'packages/inbound/src/channels',
    holds: 'chat platforms: messages, commands, delivery',
  },
  {
    folder: 'packages/operations/src/telemetry',
    holds: 'traces and durations, made from the events of the fleet',
  },
  {
    folder: 'packages/operations/src/templates',
    holds: 'fleets as files: planned, applied as a whole or not at all, exported',
  },
  {
    folder: 'packages/operations/src/setup',
    holds: 'providers, keys and models that an owner chooses',
  },
  {
    folder: 'packages/operations/src/introspection',
    holds: 'what an agent may ask about itself',
  },
  {
    folder: 'packages/operations/src/diagnostics',
    holds: 'doctor, readiness, statistics, metrics',
  },
  { folder: 'packages/operations/src/requests', holds: 'packages and sizes that agents ask a person for' },
  { folder: 'packages/operations/src/backup', holds: 'backup of a home to a file, and restore from it' },
  { folder: 'packages/operations/src/pruning', holds: 'removal of data that is no longer used' },
  {
    folder: 'packages/operations/src/dashboard',
    holds: 'pages for people, and the socket that updates them',
  },
  { folder: 'packages/identity/src', holds: 'the modules of identity, created together' },
  { folder: 'packages/fleet/src', holds: 'the modules of fleet, created together' },
  { folder: 'packages/work/src', holds: 'the modules of work, created together' },
  { folder: 'packages/egress/src', holds: 'the modules of egress, created together' },
  { folder: 'packages/inference/src', holds: 'the modules of inference, created together' },
  { folder: 'packages/inbound/src', holds: 'the modules of inbound, created together' },
  { folder: 'packages/operations/src', holds: 'the modules of operations, created together' },
  { folder: 'packages/mesh/src/app', holds: 'the composition, the process, its commands' },
]

/** Each adapter is created in one place only, so that replacing it changes one line. */
export const adapters: readonly {
  readonly makers: RegExp
  readonly allowed: readonly string[]
  readonly why: string
}[] = [
  {
    makers: /\bcreate(?:Docker|Kubernetes|Process)Runtime\b/,
    allowed: ['packages/mesh/src/app/choose-runtime.ts', 'packages/fleet/src/sandbox/'],
    why: 'agents know the port only',
  },
  {
    makers: /\bcreate(?:OpenAiCompatible|Scripted|Anthropic|AiSdk|HashedWords)Provider\b/,
    allowed: ['packages/inference/src/models/'],
    why: 'the use case knows the port only',
  },
]

/** Files of the agent that become separate bundles. Modules that they share with the agent would be in both. */
export const agentParts = {
  folder: 'packages/agent/src/parts/',
  why: 'a part holds a library and nothing of ours, so that no class and no state is there twice',
} as const

/** Words that name no concept; they are rejected as a dash-separated part of a file or folder name. */
export const bannedNames: readonly string[] = [
  'utils',
  'util',
  'helpers',
  'helper',
  'common',
  'misc',
  'lib',
  'core',
  'base',
  'manager',
  'service',
  'handler',
  'types',
]
/**
 * Exceptions: `base` is the field's term for the image that another is built on, and `browser service` is the
 * specification's term for its container.
 */
export const allowedNames: readonly RegExp[] = [/base-image/, /tsconfig\.base/, /browser-service/]

export const maxLines = { source: 400, test: 600 } as const

/** Patterns of comments that would soon be outdated. */
export const bannedComments: readonly RegExp[] = [
  /(?:\/\/|\*).*#\d{2,}/,
  /(?:\/\/|\*).*\bPR \d/,
  /(?:\/\/|\*).*\bPhase \d/,
  /(?:\/\/|\*).*\bTODO\b/,
]

/** Use cases of the mesh that take a caller call the guard. The files listed here do not, each with its reason. */
export const unguardedFiles: readonly { readonly file: string; readonly why: string }[] = [
  {
    file: 'packages/inference/src/models/gateway/remote-media.ts',
    why: 'is called by the LLM gateway behind the guard; whoever fetches asks it once more, for `http`',
  },
  { file: 'packages/identity/src/access/action.ts', why: 'declares the guard itself' },
  { file: 'packages/identity/src/kernel/kernel.ts', why: 'hands the guard to all modules' },
  { file: 'packages/identity/src/access/hold-ceiling.ts', why: 'decides after the guard was asked' },
  { file: 'packages/identity/src/policy/check-effect.ts', why: 'is called after the guard' },
  {
    file: 'packages/operations/src/control/edits/editable.ts',
    why: 'declares what `apply-edit` and `undo-change` call behind the guard',
  },
  {
    file: 'packages/operations/src/control/edits/edit-record.ts',
    why: 'is called by `apply-edit` and `undo-change` behind the guard',
  },
  {
    file: 'packages/fleet/src/agents/briefing/briefings.ts',
    why: 'asks what an agent may, to tell it so, and does nothing for a caller',
  },
  {
    file: 'packages/fleet/src/agents/administration/agent-registry.ts',
    why: 'puts what is asked of the registry together; `list-agents` asks the guard',
  },
  {
    file: 'packages/collaboration/src/blackboard/list-entries.ts',
    why: 'shows of each entry only what `decide` allows to be read',
  },
  {
    file: 'packages/collaboration/src/blackboard/cross-project-counts.ts',
    why: 'counts for people; nothing is decided by it',
  },
]

export interface JsonParser {
  readonly file: string
  readonly why: string
}

/**
 * Files of the mesh that parse JSON themselves. Text of agents and external clients goes through
 * `intake/read-json.ts`, which checks it first; each entry here names the source of the text that its file parses.
 */
export const jsonParsers: readonly JsonParser[] = [
  { file: 'packages/foundation/src/intake/read-json.ts', why: 'the one way, after the look' },
  {
    file: 'packages/inference/src/models/gateway/model-errors.ts',
    why: 'the refusal that the gateway wrote a moment ago',
  },
  { file: 'packages/mesh/src/app/choose-cluster.ts', why: 'a file that the mesh writes' },
  {
    file: 'packages/mesh/src/app/commands/ask-mesh.ts',
    why: 'the reply of this home’s own mesh, in a process of its own',
  },
  {
    file: 'packages/mesh/src/app/commands/backup.ts',
    why: 'the state file of this home’s own mesh, in a process of its own',
  },
  {
    file: 'packages/mesh/src/app/commands/doctor.ts',
    why: 'the state file of this home’s own mesh, in a process of its own',
  },
  {
    file: 'packages/operations/src/backup/read-frames.ts',
    why: 'parts of a backup, of bounded length each, in a process of its own',
  },
  {
    file: 'packages/operations/src/backup/seal-archive.ts',
    why: 'the first line of a backup, of bounded length',
  },
  {
    file: 'packages/browsing/src/screen-files.ts',
    why: 'the page of a screen, in a person’s own browser, reads the mesh’s answers',
  },
  { file: 'packages/foundation/src/config/json-document.ts', why: 'files that the owner writes' },
  { file: 'packages/foundation/src/config/last-ports.ts', why: 'a file that the mesh writes' },
  {
    file: 'packages/operations/src/control/edits/edit-mcp-servers.ts',
    why: 'a copy of a value that was read within bounds',
  },
  { file: 'packages/foundation/src/journal/journal-anchors.ts', why: 'a file that the mesh writes' },
  {
    file: 'packages/inference/src/models/formats/messages-stream.ts',
    why: 'the answer that the mesh wrote of one read within bounds',
  },
  {
    file: 'packages/identity/src/access/journal-grants.ts',
    why: 'a row, and the permissions file as it was taken in',
  },
  { file: 'packages/foundation/src/effects/effect-once.ts', why: 'a row that the mesh wrote' },
  { file: 'packages/fleet/src/sandbox/engine/engine-dialect.ts', why: 'a file of this repository' },
  { file: 'packages/fleet/src/sandbox/docker/watch-ends.ts', why: 'the engine’s own events' },
  { file: 'packages/fleet/src/sandbox/image/bundle-agent.ts', why: 'a file that the mesh writes' },
  { file: 'packages/fleet/src/sandbox/image/image-uses.ts', why: 'the notes of which home uses which image' },
  { file: 'packages/fleet/src/sandbox/image/known-images.ts', why: 'a note that the mesh writes' },
  {
    file: 'packages/fleet/src/sandbox/machine/machine-config.ts',
    why: 'a filter of system calls that lies in the package',
  },
  {
    file: 'packages/fleet/src/sandbox/gvisor/gvisor-filter.ts',
    why: 'a filter of system calls that lies in the package',
  },
  {
    file: 'packages/fleet/src/sandbox/image/node-parts.ts',
    why: 'a manifest of a package that is installed',
  },
  { file: 'packages/fleet/src/sandbox/process/process-record.ts', why: 'a file that the mesh writes' },
  {
    file: 'packages/fleet/src/sandbox/kubernetes/probe-node.ts',
    why: 'the probe of the walls is ours, and its log is read up to a bound',
  },
  {
    file: 'packages/fleet/src/sandbox/isolation/check-isolation.ts',
    why: 'the report of a probe of ours, in a container that runs nothing else',
  },
  {
    file: 'packages/foundation/src/storage/json-column.ts',
    why: 'columns that the mesh wrote, of values read within bounds',
  },
  {
    file: 'packages/inbound/src/triggers/cron/job-mark.ts',
    why: 'a copy of a job that was read within bounds',
  },
  {
    file: 'packages/inbound/src/triggers/webhook/payload-text.ts',
    why: 'one text of a delivery that was looked at whole',
  },
]

export interface BannedCall {
  readonly pattern: RegExp
  readonly allowed: readonly string[]
  readonly why: string
}

/** Time, randomness and the process are passed as arguments. */
export const bannedCalls: readonly BannedCall[] = [
  {
    pattern: /\bDate\.now\(/,
    allowed: [
      'packages/foundation/src/platform/system-clock.ts',
      'packages/agent/src/system-clock.ts',
      'packages/browser/src/system-clock.ts',
      'packages/cli/src/',
      'packages/client/src/',
    ],
    why: 'time is an argument',
  },
  {
    pattern: /\.reveal\(\)/,
    allowed: [
      'packages/egress/src/credentials/',
      'packages/inbound/src/triggers/webhook/hook-secrets.ts',
      'packages/mesh/src/app/compose.ts',
      'packages/mesh/src/app/open-journal.ts',
      'packages/inbound/src/channels/adapters/',
      'packages/egress/src/egress/search/web-search.ts',
      'packages/browsing/src/captcha/http-captcha-solver.ts',
      'packages/wallet/src/chain/rpc-address.ts',
      'packages/inference/src/models/providers/openai-compatible-provider.ts',
      'packages/inference/src/models/providers/anthropic-provider.ts',
      'packages/inference/src/models/providers/list-provider-models.ts',
      'packages/inference/src/models/providers/provider-setup.ts',
      'packages/inference/src/models/providers/ai-sdk/load-sdk.ts',
    ],
    why: 'a secret is handed to the far end and seen by nobody on the way',
  },
  { pattern: /\bMath\.random\(/, allowed: [], why: 'chance is an argument' },
  {
    pattern: /\bprocess\.env\b/,
    allowed: [
      'packages/mesh/src/main.ts',
      'packages/agent/src/main.ts',
      'packages/browser/src/main.ts',
      'packages/cli/src/',
    ],
    why: 'settings enter at main',
  },
  { pattern: /^\s*enum\s/m, allowed: [], why: 'a union and as const say it' },
]
