import type { Command } from 'commander'
import type { CliDeps } from './context.ts'

/** Adds the commands of one file to the program, with their operands and options. */
export type AddCommands = (program: Command, deps: CliDeps) => void

/** The commands of one file: their names, each with a one-line summary. */
export interface CommandGroup {
  readonly commands: Readonly<Record<string, string>>
  /** Loads the commands of this file: loading all files would take longer than a short command runs. */
  readonly load: () => Promise<AddCommands>
}

export interface CommandSection {
  readonly title: string
  readonly groups: readonly CommandGroup[]
}

/**
 * All commands, in the order in which a newcomer needs them. The help, the shell completion and the man page are
 * generated from this table.
 */
export const commandTable: readonly CommandSection[] = [
  {
    title: 'Begin',
    groups: [
      {
        commands: { demo: 'watch a fleet do a real job and attack its own isolation' },
        load: async () => (await import('./commands/demo.ts')).addDemoCommand,
      },
      {
        commands: { init: 'choose a model and make a first agent' },
        load: async () => (await import('./commands/init.ts')).addInitCommand,
      },
      {
        commands: { start: 'start the mesh and its fleet' },
        load: async () => (await import('./commands/start.ts')).addStartCommand,
      },
      {
        commands: { stop: 'stop the mesh and its agents, or one agent' },
        load: async () => (await import('./commands/stop.ts')).addStopCommand,
      },
      {
        commands: { status: 'what the fleet is doing' },
        load: async () => (await import('./commands/status.ts')).addStatusCommand,
      },
      {
        commands: { doctor: 'check this machine and this home' },
        load: async () => (await import('./commands/doctor.ts')).addDoctorCommand,
      },
      {
        commands: { open: 'the dashboard in a browser' },
        load: async () => (await import('./commands/open.ts')).addOpenCommand,
      },
      {
        commands: { proof: 'print the code that a page asks for before decisions of the owner' },
        load: async () => (await import('./commands/proof.ts')).addProofCommand,
      },
      {
        commands: { logs: 'show the log of the mesh, or the output of one agent' },
        load: async () => (await import('./commands/logs.ts')).addLogsCommand,
      },
      {
        commands: { version: 'show the version' },
        load: async () => (await import('./commands/version.ts')).addVersionCommand,
      },
    ],
  },
  {
    title: 'Talk to agents',
    groups: [
      {
        commands: { chat: 'talk to an agent' },
        load: async () => (await import('./commands/chat.ts')).addChatCommand,
      },
      {
        commands: { steer: 'send a message to an agent that is working' },
        load: async () => (await import('./commands/steer.ts')).addSteerCommand,
      },
      {
        commands: {
          history: 'what was said in a conversation',
          sessions: 'the conversations that an agent remembers',
          'reset-chat': 'archive a conversation and start a new one',
        },
        load: async () => (await import('./commands/chat-sessions.ts')).addChatSessionCommands,
      },
      {
        commands: { messages: 'what agents asked each other, and the answers' },
        load: async () => (await import('./commands/messages.ts')).addMessagesCommand,
      },
      {
        commands: {
          topics: 'topics on which agents publish, and their subscribers',
          signals: 'what an agent has not read yet',
        },
        load: async () => (await import('./commands/topics.ts')).addTopicsCommands,
      },
    ],
  },
  {
    title: 'Agents',
    groups: [
      {
        commands: { agents: 'the agents of the fleet', agent: 'add agents' },
        load: async () => (await import('./commands/agents.ts')).addAgentsCommands,
      },
      {
        commands: { create: 'create a worker' },
        load: async () => (await import('./commands/create.ts')).addCreateCommand,
      },
      {
        commands: { put: 'give a file to an agent' },
        load: async () => (await import('./commands/put.ts')).addPutCommand,
      },
      {
        commands: { invoke: 'run one tool of an agent, without a model' },
        load: async () => (await import('./commands/invoke.ts')).addInvokeCommand,
      },
      {
        commands: { templates: 'ready fleets' },
        load: async () => (await import('./commands/templates.ts')).addTemplatesCommand,
      },
      {
        commands: { apply: 'create the fleet that a template describes' },
        load: async () => (await import('./commands/apply.ts')).addApplyCommand,
      },
      {
        commands: { export: 'write the fleet as a template' },
        load: async () => (await import('./commands/export.ts')).addExportCommand,
      },
      {
        commands: { restart: 're-create the container of an agent' },
        load: async () => (await import('./commands/restart.ts')).addRestartCommand,
      },
      {
        commands: { hibernate: 'put an idle agent to sleep' },
        load: async () => (await import('./commands/hibernate.ts')).addHibernateCommand,
      },
      {
        commands: {
          archive: 'take an agent out of use and keep its data',
          unarchive: 'let an archived agent work again',
        },
        load: async () => (await import('./commands/archive.ts')).addArchiveCommands,
      },
      {
        commands: { delete: 'delete an agent permanently' },
        load: async () => (await import('./commands/delete.ts')).addDeleteCommand,
      },
      {
        commands: { heartbeat: 'run the heartbeat of an agent now, or set its interval' },
        load: async () => (await import('./commands/heartbeat.ts')).addHeartbeatCommand,
      },
      {
        commands: { browser: 'browsers of agents: see, watch, help, close' },
        load: async () => (await import('./commands/browser.ts')).addBrowserCommand,
      },
      {
        commands: { mcp: 'MCP servers of an agent' },
        load: async () => (await import('./commands/mcp.ts')).addMcpCommand,
      },
    ],
  },
  {
    title: 'Work and results',
    groups: [
      {
        commands: {
          runs: 'the ledger of runs, or one run',
          cancel: 'cancel a run, or reject a pending approval',
        },
        load: async () => (await import('./commands/runs.ts')).addRunsCommand,
      },
      {
        commands: { trace: 'what a run did, and when, as a waterfall' },
        load: async () => (await import('./commands/trace.ts')).addTraceCommand,
      },
      {
        commands: { tasks: 'tasks that were given to agents' },
        load: async () => (await import('./commands/tasks.ts')).addTasksCommand,
      },
      {
        commands: { projects: 'agents with a common goal, and the data they share' },
        load: async () => (await import('./commands/projects.ts')).addProjectsCommand,
      },
      {
        commands: { artifacts: 'files that agents saved' },
        load: async () => (await import('./commands/artifacts.ts')).addArtifactsCommand,
      },
      {
        commands: { blackboard: 'keys and values that agents share' },
        load: async () => (await import('./commands/blackboard.ts')).addBlackboardCommand,
      },
      {
        commands: { events: 'watch the fleet' },
        load: async () => (await import('./commands/events.ts')).addEventsCommand,
      },
      {
        commands: {
          replay: 'play a finished run again from its record',
          fork: 'continue from a step of a run with another model',
        },
        load: async () => (await import('./commands/replay.ts')).addReplayCommands,
      },
      {
        commands: { eval: 'run test cases against an agent and judge the results' },
        load: async () => (await import('./commands/eval.ts')).addEvalCommand,
      },
      {
        commands: { record: 'record a real conversation as a cassette' },
        load: async () => (await import('./commands/record.ts')).addRecordCommand,
      },
    ],
  },
  {
    title: 'Triggers',
    groups: [
      {
        commands: { cron: 'jobs that start agents on a schedule' },
        load: async () => (await import('./commands/cron.ts')).addCronCommand,
      },
      {
        commands: { watchers: 'folders whose new files start runs' },
        load: async () => (await import('./commands/watchers.ts')).addWatchersCommand,
      },
      {
        commands: { webhooks: 'HTTP events from outside that start runs' },
        load: async () => (await import('./commands/webhooks.ts')).addWebhooksCommand,
      },
      {
        commands: {
          pause: 'hold the work that triggers start',
          resume: 'end a pause; work that came due meanwhile starts once',
        },
        load: async () => (await import('./commands/pause.ts')).addPauseCommands,
      },
    ],
  },
  {
    title: 'Money and models',
    groups: [
      {
        commands: { costs: 'spend by agent, project, model or day' },
        load: async () => (await import('./commands/costs.ts')).addCostsCommand,
      },
      {
        commands: { budget: 'show and set spending limits' },
        load: async () => (await import('./commands/budget.ts')).addBudgetCommand,
      },
      {
        commands: { wallet: 'the seed of the fleet’s wallets, and the addresses of agents' },
        load: async () => (await import('./commands/wallet.ts')).addWalletCommand,
      },
      {
        commands: { models: 'models: price, health, and which agents may use them' },
        load: async () => (await import('./commands/models.ts')).addModelsCommand,
      },
    ],
  },
  {
    title: 'Permissions and approvals',
    groups: [
      {
        commands: { permissions: 'what agents may do, and why' },
        load: async () => (await import('./commands/permissions.ts')).addPermissionsCommand,
      },
      {
        commands: { policy: 'rules that allow, ask for or deny what agents do' },
        load: async () => (await import('./commands/policy.ts')).addPolicyCommand,
      },
      {
        commands: {
          pending: 'what waits for your decision',
          confirm: 'approve an action that waits for you',
        },
        load: async () => (await import('./commands/pending.ts')).addPendingCommands,
      },
      {
        commands: {
          edit: 'change an agent',
          changes: 'list changes of agents, and which can be undone',
          undo: 'undo a change',
        },
        load: async () => (await import('./commands/changes.ts')).addChangesCommands,
      },
      {
        commands: { credentials: 'secrets that agents use without seeing them' },
        load: async () => (await import('./commands/credentials.ts')).addCredentialsCommand,
      },
      {
        commands: { packages: 'packages of apt, npm and pip in the image of an agent' },
        load: async () => (await import('./commands/packages.ts')).addPackagesCommand,
      },
      {
        commands: { size: 'memory, processors, processes and /tmp of an agent' },
        load: async () => (await import('./commands/size.ts')).addSizeCommand,
      },
      {
        commands: { harness: 'a program such as Claude Code that drives an agent' },
        load: async () => (await import('./commands/harness.ts')).addHarnessCommand,
      },
      {
        commands: { egress: 'hosts whose requests the mesh decides one by one' },
        load: async () => (await import('./commands/egress.ts')).addEgressCommand,
      },
      {
        commands: { channels: 'chat platforms, and the code that pairs you with one' },
        load: async () => (await import('./commands/channels.ts')).addChannelsCommand,
      },
      {
        commands: { people: 'who may use this fleet, and their roles', whoami: 'who you are to this mesh' },
        load: async () => (await import('./commands/people.ts')).addPeopleCommand,
      },
      {
        commands: { walls: 'check the isolation of agents' },
        load: async () => (await import('./commands/walls.ts')).addWallsCommand,
      },
      {
        commands: { journal: 'the audit log (journal) of decisions and effects' },
        load: async () => (await import('./commands/journal.ts')).addJournalCommand,
      },
    ],
  },
  {
    title: 'This machine',
    groups: [
      {
        commands: { service: 'have systemd keep the mesh running' },
        load: async () => (await import('./commands/systemd.ts')).addServiceCommand,
      },
      {
        commands: { 'install-command': 'make flotilla a command of this machine' },
        load: async () => (await import('./commands/install-command.ts')).addInstallCommand,
      },
      {
        commands: { completion: 'complete commands in a shell' },
        load: async () => (await import('./commands/completion.ts')).addCompletionCommand,
      },
      {
        commands: {
          backup: 'write the whole fleet into one file, while it runs',
          verify: 'check a backup by reading all of it',
          restore: 'restore a backup into an empty home',
        },
        load: async () => (await import('./commands/backup.ts')).addBackupCommands,
      },
      {
        commands: { image: 'images with packages, and the agent image for a cluster' },
        load: async () => (await import('./commands/image.ts')).addImageCommand,
      },
      {
        commands: { prune: 'remove leftovers that are no longer used' },
        load: async () => (await import('./commands/prune.ts')).addPruneCommand,
      },
      {
        commands: { upgrade: 'install a newer release, and roll back if it does not start' },
        load: async () => (await import('./commands/upgrade.ts')).addUpgradeCommand,
      },
      {
        commands: { reset: 'remove a fleet permanently' },
        load: async () => (await import('./commands/reset.ts')).addResetCommand,
      },
      {
        commands: { uninstall: 'remove everything that was created here' },
        load: async () => (await import('./commands/uninstall.ts')).addUninstallCommand,
      },
    ],
  },
]
