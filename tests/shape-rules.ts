/** How wide a record may be and how long a function, with those that are wider or longer and why. */

/** Packages whose shape is not bounded: components of pages, and commands that print. */
export const unshapedPackages: readonly string[] = ['cli', 'dashboard', 'testing']

/** Of an interface, or of a type that is written in place. What it extends counts where that is declared. */
export const maxMembers = 12
/** Without blank lines, and without the functions that it holds. */
export const maxOwnLines = 60
/** The same with the functions that it holds: a closure of more is a module without a file for each of its parts. */
export const maxAllLines = 150

export interface WideRecord {
  /** The file and the name. */
  readonly record: string
  readonly membersMax: number
  readonly why: string
}

/** Records that are wider than others. A row may shrink and go, and must not grow. */
export const wideRecords: readonly WideRecord[] = [
  {
    record: 'packages/agent/src/environment.ts AgentEnvironment',
    membersMax: 20,
    why: 'the environment, a value each',
  },
  {
    record: 'packages/agent/src/loop/loop-state.ts LoopState',
    membersMax: 16,
    why: 'a checkpoint, as it is on disk',
  },
  {
    record: 'packages/agent/src/memory/fact-table.ts FactTable',
    membersMax: 14,
    why: 'statements of one table',
  },
  {
    record: 'packages/mesh/src/app/commands/command-context.ts CommandContext',
    membersMax: 13,
    why: 'the process as it was started, a value each',
  },
  {
    record: 'packages/operations/src/backup/make-backup.ts BackupOptions',
    membersMax: 15,
    why: 'one call of a program',
  },
  {
    record: 'packages/foundation/src/config/data-paths.ts DataPaths',
    membersMax: 33,
    why: 'the files of a home, a path each',
  },
  {
    record: 'packages/foundation/src/config/environment.ts Environment',
    membersMax: 22,
    why: 'the environment, a value each',
  },
  {
    record: 'packages/fleet/src/agents/lifecycle/agent-sandbox.ts agentSandbox',
    membersMax: 13,
    why: 'everything that one start decides, a value each',
  },
  {
    record: 'packages/fleet/src/agents/administration/agent-registry.ts AgentRegistry',
    membersMax: 13,
    why: 'what other contexts ask about agents, a question each',
  },
  { record: 'packages/work/src/approvals/approval-record.ts ApprovalRecord', membersMax: 15, why: 'a row' },
  {
    record: 'packages/inference/src/replay/exchange-table.ts ExchangeTable',
    membersMax: 13,
    why: 'statements of one table',
  },
  { record: 'packages/work/src/runs/ledger/run-record.ts RunRecord', membersMax: 31, why: 'a row' },
  { record: 'packages/work/src/runs/steering/steer-table.ts SteerRecord', membersMax: 14, why: 'a row' },
  {
    record: 'packages/fleet/src/sandbox/docker/docker-options.ts DockerRuntimeOptions',
    membersMax: 20,
    why: 'how an engine is used, a value each',
  },
  { record: 'packages/inbound/src/triggers/cron/cron-table.ts CronRow', membersMax: 16, why: 'a row' },
  {
    record: 'packages/inbound/src/triggers/webhook/delivery-table.ts DeliveryRow',
    membersMax: 15,
    why: 'a row',
  },
  { record: 'packages/inbound/src/triggers/webhook/hook-table.ts Hook', membersMax: 13, why: 'a row' },
  { record: 'packages/wallet/src/payments/intent-record.ts IntentRecord', membersMax: 28, why: 'a row' },
]

export interface LongFunction {
  readonly name: string
  readonly ownLinesMax: number
  readonly why: string
}

/** Functions that are longer than others. A row may shrink and go, and must not grow. */
export const longFunctions: readonly LongFunction[] = [
  {
    name: 'packages/agent/src/builtin-tools/operator.ts operatorToolTable',
    ownLinesMax: 80,
    why: 'a table: a row for each tool',
  },
  {
    name: 'packages/agent/src/builtin-tools/wallet.ts walletTools',
    ownLinesMax: 70,
    why: 'a table: a row for each tool',
  },
  {
    name: 'packages/identity/src/access/authorize.ts authorizeByRecord',
    ownLinesMax: 75,
    why: 'a case for each action',
  },
  { name: 'packages/mesh/src/app/compose.ts compose', ownLinesMax: 110, why: 'the list of contexts' },
  {
    name: 'packages/operations/src/index.ts operationsModules',
    ownLinesMax: 95,
    why: 'the list of the modules of a context, with their needs',
  },
  {
    name: 'packages/browsing/src/create-browsers.ts createBrowsers',
    ownLinesMax: 85,
    why: 'the list of the module’s parts',
  },
  {
    name: 'packages/inbound/src/channels/channel-desk.ts createChannelDesk',
    ownLinesMax: 90,
    why: 'the list of the parts that every channel is given',
  },
  {
    name: 'packages/fleet/src/sandbox/kubernetes/agent-objects.ts agentObjects',
    ownLinesMax: 85,
    why: 'one manifest, as the cluster takes it',
  },
]

export interface TallClosure {
  readonly name: string
  readonly allLinesMax: number
  readonly why: string
}

/** Functions that are longer than others with all that they hold. A row may shrink and go, and must not grow. */
export const tallClosures: readonly TallClosure[] = [
  {
    name: 'packages/agent/src/mcp-servers/server-connection.ts createServerConnection',
    allLinesMax: 184,
    why: 'state and its steps in one closure; to be taken apart',
  },
  {
    name: 'packages/browsing/src/create-browsers.ts createBrowsers',
    allLinesMax: 192,
    why: 'the list of the module’s parts',
  },
  {
    name: 'packages/inbound/src/channels/adapters/discord/discord-adapter.ts createDiscordAdapter',
    allLinesMax: 168,
    why: 'state and its steps in one closure; to be taken apart',
  },
  {
    name: 'packages/inbound/src/channels/channel-desk.ts createChannelDesk',
    allLinesMax: 168,
    why: 'the list of the parts that every channel is given',
  },
  {
    name: 'packages/fleet/src/sandbox/kubernetes/kubernetes-runtime.ts createKubernetesRuntime',
    allLinesMax: 184,
    why: 'a port of many members; to be taken apart as the one of Docker was',
  },
  {
    name: 'packages/fleet/src/sandbox/process/process-runtime.ts createProcessRuntime',
    allLinesMax: 181,
    why: 'a port of many members; to be taken apart as the one of Docker was',
  },
  {
    name: 'packages/operations/src/templates/export-fleet.ts createExportFleet',
    allLinesMax: 182,
    why: 'state and its steps in one closure; to be taken apart',
  },
  {
    name: 'packages/wallet/src/chain/evm-chain.ts createEvmChain',
    allLinesMax: 198,
    why: 'a port of many members',
  },
  {
    name: 'packages/wallet/src/payments/intent-table.ts createIntentTable',
    allLinesMax: 160,
    why: 'statements of one table',
  },
]

export interface SelfReference {
  readonly name: string
  readonly why: string
}

/** Constants that a closure names above their declaration: what begins names what ends it. */
export const selfReferences: readonly SelfReference[] = [
  {
    name: 'packages/agent/src/skills/skill-registry.ts reload',
    why: 'tools that are shown reload what is shown',
  },
  { name: 'packages/agent/src/subagents/supervisor.ts subagent', why: 'its own end is written into it' },
  {
    name: 'packages/agent/src/system-clock.ts timer',
    why: 'whoever aborts ends the timer, which ends the listening',
  },
  { name: 'packages/browser/src/tabs/open-tabs.ts close', why: 'a tab that is opened may close itself' },
  {
    name: 'packages/client/src/system-clock.ts timer',
    why: 'whoever aborts ends the timer, which ends the listening',
  },
  {
    name: 'packages/inbound/src/channels/adapters/discord/discord-adapter.ts interactions',
    why: 'the gateway is made first and tells what is made with it',
  },
  {
    name: 'packages/inbound/src/channels/adapters/discord/discord-history.ts privateOnes',
    why: 'what is read may lead to more that is read',
  },
  {
    name: 'packages/egress/src/egress/proxy/tunnels.ts end',
    why: 'a tunnel names the way to leave the roster',
  },
]
