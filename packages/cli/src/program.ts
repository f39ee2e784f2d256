import { Command } from 'commander'
import { addApplyCommand } from './commands/apply.ts'
import { addArtifactsCommand } from './commands/artifacts.ts'
import { addBlackboardCommand } from './commands/blackboard.ts'
import { addBudgetCommand } from './commands/budget.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addArchiveCommands } from './commands/archive.ts'
import { addPauseCommands } from './commands/pause.ts'
import { addChangesCommands } from './commands/changes.ts'
import { addChatCommand } from './commands/chat.ts'
import { addChatSessionCommands } from './commands/chat-sessions.ts'
import { addCostsCommand } from './commands/costs.ts'
import { addCreateCommand } from './commands/create.ts'
import { addCredentialsCommand } from './commands/credentials.ts'
import { addCronCommand } from './commands/cron.ts'
import { addDeleteCommand } from './commands/delete.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEvalCommand } from './commands/eval.ts'
import { addEventsCommand } from './commands/events.ts'
import { addExportCommand } from './commands/export.ts'
import { addHeartbeatCommand } from './commands/heartbeat.ts'
import { addHibernateCommand } from './commands/hibernate.ts'
import { addInvokeCommand } from './commands/invoke.ts'
import { addJournalCommand } from './commands/journal.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addModelsCommand } from './commands/models.ts'
import { addPendingCommands } from './commands/pending.ts'
import { addPermissionsCommand } from './commands/permissions.ts'
import { addProjectsCommand } from './commands/projects.ts'
import { addPutCommand } from './commands/put.ts'
import { addRecordCommand } from './commands/record.ts'
import { addReplayCommands } from './commands/replay.ts'
import { addResetCommand } from './commands/reset.ts'
import { addRestartCommand } from './commands/restart.ts'
import { addRunsCommand } from './commands/runs.ts'
import { addStartCommand } from './commands/start.ts'
import { addStatusCommand } from './commands/status.ts'
import { addSteerCommand } from './commands/steer.ts'
import { addStopCommand } from './commands/stop.ts'
import { addTasksCommand } from './commands/tasks.ts'
import { addMessagesCommand } from './commands/messages.ts'
import { addPeopleCommand } from './commands/people.ts'
import { addTemplatesCommand } from './commands/templates.ts'
import { addTopicsCommands } from './commands/topics.ts'
import { addTraceCommand } from './commands/trace.ts'
import { addVersionCommand } from './commands/version.ts'
import { addProofCommand } from './commands/proof.ts'
import { addWallsCommand } from './commands/walls.ts'
import { addWebhooksCommand } from './commands/webhooks.ts'
import { addWatchersCommand } from './commands/watchers.ts'
import type { CliDeps } from './context.ts'
import { wholeNumber } from './number-argument.ts'

/** The commands in the order in which a newcomer needs them. */
const commands = [
  addDemoCommand,
  addStartCommand,
  addStopCommand,
  addStatusCommand,
  addChatCommand,
  addSteerCommand,
  addChatSessionCommands,
  addTemplatesCommand,
  addApplyCommand,
  addCreateCommand,
  addExportCommand,
  addPutCommand,
  addInvokeCommand,
  addHeartbeatCommand,
  addRunsCommand,
  addTraceCommand,
  addTasksCommand,
  addProjectsCommand,
  addCostsCommand,
  addModelsCommand,
  addBudgetCommand,
  addArtifactsCommand,
  addCredentialsCommand,
  addMcpCommand,
  addBlackboardCommand,
  addWebhooksCommand,
  addTopicsCommands,
  addMessagesCommand,
  addPeopleCommand,
  addWatchersCommand,
  addCronCommand,
  addEventsCommand,
  addPendingCommands,
  addPermissionsCommand,
  addChangesCommands,
  addRestartCommand,
  addHibernateCommand,
  addArchiveCommands,
  addPauseCommands,
  addDeleteCommand,
  addProofCommand,
  addWallsCommand,
  addDoctorCommand,
  addJournalCommand,
  addBackupCommands,
  addRecordCommand,
  addReplayCommands,
  addEvalCommand,
  addResetCommand,
  addVersionCommand,
]

/** The whole command line. It writes nothing and ends nothing on its own: usage errors are thrown. */
export function createProgram(deps: CliDeps): Command {
  const program = new Command('flotilla')
    .description(
      'Runs a fleet of autonomous agents, each in its own hardened container, behind one trusted control host.',
    )
    .option('--json', 'machine-readable output on standard output, and nothing else there')
    .option('--home <folder>', 'home folder of the fleet (default: FLOTILLA_HOME or ~/.flotilla)')
    .option('--port <number>', 'port of the mesh on 127.0.0.1 (default: 8420)', wholeNumber(1, 65_535))
    .option(
      '--url <url>',
      'address of a mesh elsewhere; FLOTILLA_TOKEN holds your personal token, or FLOTILLA_SESSION the session cookie',
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void deps.out.write(text),
      writeErr: (text) => void deps.err.write(text),
      getOutHelpWidth: () => deps.out.columns ?? 100,
      getErrHelpWidth: () => deps.err.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('Run it with --help to see what it takes.')
    .exitOverride()
    .addHelpText(
      'after',
      `
First steps:
  $ flotilla demo                     see everything work, in about a minute
  $ flotilla start -d                 start a fleet of your own
  $ flotilla chat                     talk to its operator
  $ flotilla doctor                   when something does not work

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 no mesh runs, 4 denied or over budget`,
    )
  for (const add of commands) add(program, deps)
  return program
}
