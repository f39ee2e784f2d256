/** The conventions of this repository as data. `architecture.test.ts` runs them; every entry says why. */

export interface Edge {
  readonly from: string
  readonly to: readonly string[]
  readonly why: string
}

/** Which package may import which other package of ours. */
export const packageEdges: readonly Edge[] = [
  { from: 'protocol', to: [], why: 'what both sides agree on depends on nobody' },
  { from: 'client', to: ['protocol'], why: 'speaks the people’s door and nothing else' },
  {
    from: 'agent',
    to: ['protocol'],
    why: 'lives behind the wall; the mesh’s code must not be in its container',
  },
  { from: 'mesh', to: ['protocol'], why: 'the trusted host imports no zone around it' },
  { from: 'cli', to: ['client', 'protocol'], why: 'starts the mesh as a process and never imports it' },
]

/** Which folder of mesh/src may import which. `main`, `compose*` and `commands/` stand above the table. */
export const meshEdges: readonly Edge[] = [
  { from: 'storage', to: [], why: 'leaf' },
  {
    from: 'intake',
    to: [],
    why: 'leaf: how much of the mesh what comes from outside may take, before it is anything',
  },
  { from: 'config', to: [], why: 'leaf' },
  { from: 'sandbox', to: ['config'], why: 'leaf; files are written through config/atomic-file' },
  { from: 'journal', to: ['storage'], why: 'a record is a row' },
  { from: 'events', to: ['storage'], why: 'an event is a row' },
  {
    from: 'policy',
    to: ['config', 'runs', 'storage', 'journal', 'events'],
    why: 'decides from the permissions file; runs only for the ticket; the guard journals and announces refusals; what the journal was told of grants is a row',
  },
  {
    from: 'vault',
    to: ['policy', 'config', 'storage', 'journal', 'intake'],
    why: 'keys come from .env; each use is journaled; what agents ask the owner for is a row',
  },
  {
    from: 'fleet',
    to: ['sandbox', 'policy', 'storage', 'events', 'journal', 'config', 'intake'],
    why: 'announces ends and never touches runs; replies of agents are read within bounds',
  },
  {
    from: 'runs',
    to: ['fleet', 'policy', 'storage', 'events', 'journal', 'tasks', 'intake'],
    why: 'the spine; a task-kind run is built from its task row; what is under way is shared among agents',
  },
  {
    from: 'tasks',
    to: ['runs', 'policy', 'storage', 'journal', 'events'],
    why: 'a hand-off ends in submitRun',
  },
  {
    from: 'llm',
    to: ['vault', 'policy', 'storage', 'journal', 'runs', 'config', 'events', 'intake'],
    why: 'a model call is charged to a run; prompts and answers are read within bounds',
  },
  {
    from: 'egress',
    to: ['vault', 'policy', 'storage', 'journal', 'runs', 'intake'],
    why: 'a fetch is made for a run; answers of strangers are read within bounds',
  },
  {
    from: 'budgets',
    to: ['policy', 'storage', 'events', 'journal'],
    why: 'edits what the model door reserves by; the fleet and the sums are asked through ports',
  },
  {
    from: 'approvals',
    to: ['runs', 'policy', 'storage', 'journal', 'events'],
    why: 'what waits for a person; the run that asked is told',
  },
  {
    from: 'edits',
    to: ['fleet', 'policy', 'storage', 'journal', 'events'],
    why: 'changes of agents by people and the operator, and their undoing',
  },
  {
    from: 'triggers',
    to: [
      'runs',
      'fleet',
      'tasks',
      'topics',
      'policy',
      'config',
      'storage',
      'journal',
      'events',
      'conditions',
      'vault',
      'intake',
    ],
    why: 'what makes an agent act without being asked; each ends in submitRun',
  },
  { from: 'blackboard', to: ['policy', 'storage', 'events', 'journal'], why: 'one noun' },
  { from: 'artifacts', to: ['policy', 'storage', 'events', 'journal', 'config'], why: 'one noun' },
  { from: 'skills', to: ['policy', 'journal', 'intake'], why: 'checks sources; an agent runs what passed' },
  { from: 'topics', to: ['policy', 'storage', 'events', 'journal'], why: 'one noun' },
  { from: 'notes', to: ['policy', 'storage', 'events', 'journal'], why: 'one noun' },
  {
    from: 'walls',
    to: ['sandbox', 'events', 'journal'],
    why: 'keeps the verdict on the walls; the port alone tries them',
  },
  {
    from: 'pauses',
    to: ['runs', 'policy', 'storage', 'journal', 'events'],
    why: 'the kill switch of what nobody asked for; holds and releases lanes',
  },
  { from: 'conditions', to: [], why: 'pure: what an owner writes as `when`' },
  { from: 'doctor', to: ['config'], why: 'findings are judged here; the command gathers the facts' },
  { from: 'metrics', to: [], why: 'text from numbers' },
  {
    from: 'api',
    to: [
      'policy',
      'runs',
      'tasks',
      'fleet',
      'llm',
      'egress',
      'blackboard',
      'artifacts',
      'notes',
      'events',
      'metrics',
      'pauses',
      'intake',
    ],
    why: 'routes call use cases, never storage or sandbox',
  },
]

export interface EdgeImport {
  readonly module: string
  /** Path prefixes that may import it at run time. */
  readonly allowed: readonly string[]
  readonly why: string
}

/** Effects live at named edges (tests may import anything). */
export const edgeImports: readonly EdgeImport[] = [
  { module: 'dockerode', allowed: ['packages/mesh/src/sandbox/'], why: 'one engine, one room' },
  {
    module: 'node:sqlite',
    allowed: ['packages/mesh/src/storage/database.ts', 'packages/agent/src/memory/memory-database.ts'],
    why: 'one way to each database: the mesh’s, and an agent’s memory',
  },
  { module: 'fastify', allowed: ['packages/mesh/src/api/'], why: 'the doors' },
  {
    module: 'undici',
    allowed: ['packages/mesh/src/llm/', 'packages/mesh/src/egress/', 'packages/mesh/src/fleet/agent-http.ts'],
    why: 'calls that leave the mesh',
  },
  { module: 'pino', allowed: ['packages/mesh/src/log.ts'], why: 'one log' },
  {
    module: '@pydantic/genai-prices',
    allowed: ['packages/mesh/src/llm/price-list.ts', 'packages/mesh/src/llm/model-window.ts'],
    why: 'one list of prices and windows',
  },
  {
    module: '@ai-sdk/anthropic',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/google',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/mistral',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/cohere',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/amazon-bedrock',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/azure',
    allowed: ['packages/mesh/src/llm/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  { module: 're2js', allowed: ['packages/mesh/src/conditions/'], why: 'patterns that cannot be slow' },
  {
    module: '@modelcontextprotocol/client',
    allowed: ['packages/agent/src/parts/mcp.ts'],
    why: 'loaded with the first server of an agent that has one',
  },
  { module: 'commander', allowed: ['packages/cli/src/'], why: 'people’s side only' },
  {
    module: 'node:child_process',
    allowed: [
      'packages/mesh/src/sandbox/',
      'packages/agent/src/builtin-tools/',
      'packages/agent/src/skills/run-skill.ts',
      'packages/agent/src/mcp-servers/local-transport.ts',
      'packages/cli/src/',
    ],
    why: 'programs are started by the sandbox adapters, the shell tool, the runner of skills, MCP servers and the command line',
  },
]

/** Adapters are named by compose alone, so that swapping one is one line. */
export const adapterFiles: readonly {
  readonly file: RegExp
  readonly allowed: readonly string[]
  readonly why: string
}[] = [
  {
    file: /\/sandbox\/(docker|fake|process)-runtime\.ts$/,
    allowed: ['packages/mesh/src/compose-runtime.ts', 'packages/mesh/src/sandbox/'],
    why: 'the fleet knows the port only',
  },
  {
    file: /\/llm\/(openai-compatible|scripted|anthropic|ai-sdk|hashed-words)-provider\.ts$/,
    allowed: ['packages/mesh/src/compose-model-door.ts', 'packages/mesh/src/llm/'],
    why: 'the use case knows the port only',
  },
]

/** Files of the agent that become bundles of their own: what they share with it would be there twice. */
export const agentParts = {
  folder: 'packages/agent/src/parts/',
  why: 'a part holds a library and nothing of ours, so that no class and no state is there twice',
} as const

/** Words that name no concept, refused as a dash-separated part of a file or folder name. */
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
/** `base` is the field's word for what an image is built on. */
export const allowedNames: readonly RegExp[] = [/base-image/, /tsconfig\.base/]

export const maxLines = { source: 400, test: 600 } as const

/** Comments that will not outlive their day. */
export const bannedComments: readonly RegExp[] = [
  /(?:\/\/|\*).*#\d{2,}/,
  /(?:\/\/|\*).*\bPR \d/,
  /(?:\/\/|\*).*\bPhase \d/,
  /(?:\/\/|\*).*\bTODO\b/,
]

/** What takes a caller in a room of the mesh asks the guard. These do not, and say why. */
export const unguardedFiles: readonly { readonly file: string; readonly why: string }[] = [
  {
    file: 'llm/remote-media.ts',
    why: 'is called by the model door behind the guard; whoever fetches asks it once more, for `http`',
  },
  { file: 'policy/action.ts', why: 'declares the guard itself' },
  { file: 'policy/hold-ceiling.ts', why: 'decides, for a use case that has asked the guard' },
  { file: 'edits/editable.ts', why: 'declares what `apply-edit` and `undo-change` call behind the guard' },
  { file: 'edits/edit-record.ts', why: 'is called by `apply-edit` and `undo-change` behind the guard' },
  { file: 'runs/follow-run.ts', why: 'declares what is done in the name of a run that was let in' },
  {
    file: 'triggers/cron/cron-world.ts',
    why: 'declares what the room asks of the rest; its use cases ask the guard',
  },
  { file: 'fleet/briefings.ts', why: 'asks what an agent may, to tell it so, and does nothing for a caller' },
  { file: 'fleet/fleet.ts', why: 'puts the use cases of its room together' },
  { file: 'blackboard/list-entries.ts', why: 'shows of each entry only what `decide` allows to be read' },
  { file: 'blackboard/cross-project-counts.ts', why: 'counts for people; nothing is decided by it' },
]

export interface JsonParser {
  readonly file: string
  readonly why: string
}

/**
 * Files of the mesh that make values of JSON by themselves. Whatever an agent or a stranger wrote goes through
 * `intake/read-json.ts`, which looks at it first; each of these says whose text it reads instead.
 */
export const jsonParsers: readonly JsonParser[] = [
  { file: 'intake/read-json.ts', why: 'the one way, after the look' },
  { file: 'api/agent/model-errors.ts', why: 'the refusal that the door wrote a moment ago' },
  {
    file: 'commands/doctor.ts',
    why: 'the state file and the reply of this home’s own mesh, in a process of its own',
  },
  { file: 'config/json-document.ts', why: 'files that the owner writes' },
  { file: 'config/last-ports.ts', why: 'a file that the mesh writes' },
  { file: 'edits/edit-mcp-servers.ts', why: 'a copy of a value that was read within bounds' },
  { file: 'journal/journal-anchors.ts', why: 'a file that the mesh writes' },
  { file: 'llm/ai-sdk-provider.ts', why: 'the body that the mesh wrote of a prompt read within bounds' },
  { file: 'llm/anthropic-provider.ts', why: 'the body that the mesh wrote of a prompt read within bounds' },
  { file: 'llm/messages-stream.ts', why: 'the answer that the mesh wrote of one read within bounds' },
  {
    file: 'llm/translate/messages-over-chat.ts',
    why: 'the body that the mesh wrote of a prompt read within bounds',
  },
  { file: 'policy/journal-grants.ts', why: 'a row, and the permissions file as it was taken in' },
  { file: 'runs/effect-once.ts', why: 'a row that the mesh wrote' },
  { file: 'sandbox/docker/engine-dialect.ts', why: 'a file of ours' },
  { file: 'sandbox/docker/watch-ends.ts', why: 'the engine’s own events' },
  { file: 'sandbox/image/bundle-agent.ts', why: 'a file that the mesh writes' },
  { file: 'sandbox/image/image-uses.ts', why: 'the notes of which home uses which image' },
  { file: 'sandbox/image/known-images.ts', why: 'a note that the mesh writes' },
  { file: 'sandbox/image/node-parts.ts', why: 'a manifest of a package that is installed' },
  { file: 'sandbox/process/process-record.ts', why: 'a file that the mesh writes' },
  {
    file: 'sandbox/walls/verify-walls.ts',
    why: 'the report of a probe of ours, in a container that runs nothing else',
  },
  { file: 'storage/json-column.ts', why: 'columns that the mesh wrote, of values read within bounds' },
  { file: 'triggers/cron/job-mark.ts', why: 'a copy of a job that was read within bounds' },
  { file: 'triggers/webhook/payload-text.ts', why: 'one text of a delivery that was looked at whole' },
]

export interface BannedCall {
  readonly pattern: RegExp
  readonly allowed: readonly string[]
  readonly why: string
}

/** Time, chance and the process are arguments. */
export const bannedCalls: readonly BannedCall[] = [
  {
    pattern: /\bDate\.now\(/,
    allowed: [
      'packages/mesh/src/system-clock.ts',
      'packages/agent/src/system-clock.ts',
      'packages/cli/src/',
      'packages/client/src/',
    ],
    why: 'time is an argument',
  },
  {
    pattern: /\.reveal\(\)/,
    allowed: [
      'packages/mesh/src/vault/',
      'packages/mesh/src/triggers/webhook/hook-secrets.ts',
      'packages/mesh/src/compose-parts.ts',
      'packages/mesh/src/compose-vault.ts',
      'packages/mesh/src/compose-journal.ts',
      'packages/mesh/src/egress/web-search.ts',
      'packages/mesh/src/llm/openai-compatible-provider.ts',
      'packages/mesh/src/llm/anthropic-provider.ts',
      'packages/mesh/src/llm/provider-setup.ts',
      'packages/mesh/src/llm/ai-sdk/load-sdk.ts',
    ],
    why: 'a secret is handed to the far end and seen by nobody on the way',
  },
  { pattern: /\bMath\.random\(/, allowed: [], why: 'chance is an argument' },
  {
    pattern: /\bprocess\.env\b/,
    allowed: ['packages/mesh/src/main.ts', 'packages/agent/src/main.ts', 'packages/cli/src/'],
    why: 'settings enter at main',
  },
  { pattern: /^\s*enum\s/m, allowed: [], why: 'a union and as const say it' },
]
