import type { HeartbeatFire, HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import { describeHeartbeatCost, heartbeatModel } from '@flotilla/protocol/heartbeat-cost'
import type { RunView } from '@flotilla/protocol/run'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { confirmRead } from '../confirm-read.ts'
import { exitCodeOfRun } from './chat.ts'

export function addHeartbeatCommand(program: Command, deps: CliDeps): void {
  program
    .command('heartbeat')
    .description(
      'With an agent, runs its heartbeat now, even if nothing needs work, and prints the result. --every and --off set its interval; the operator’s is always 15m. Without an agent, lists all heartbeats.',
    )
    .argument('[agent]', 'id of the agent')
    .option('--every <time>', 'set the interval: 30m, 2h, 1d')
    .option('--off', 'switch off the interval')
    .option('--if-needed', 'run now, but only if a scheduled heartbeat would run')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla heartbeat\n  $ flotilla heartbeat scout\n  $ flotilla heartbeat scout --if-needed\n  $ flotilla heartbeat scout --every 30m\n  $ flotilla heartbeat scout --off',
    )
    .action(commandAction(deps, heartbeat))
}

async function heartbeat(context: CommandContext, line: CommandLine): Promise<void> {
  const [agentId] = line.operands
  const every = textOption(line, 'every')
  const off = flagOption(line, 'off')
  if (every !== undefined && off) throw misused('use --every or --off, not both')
  const ifNeeded = flagOption(line, 'ifNeeded')
  if (agentId === undefined && (every !== undefined || off || ifNeeded)) throw misused('name an agent')
  if (ifNeeded && (every !== undefined || off))
    throw misused('--if-needed applies only to a heartbeat that runs now')
  const client = await context.mesh()
  const { signal, terminal } = context
  if (agentId === undefined) {
    const listed = await client.call('heartbeats', { signal })
    terminal.printJson(listed)
    rows(listed.heartbeats).forEach((row) => terminal.print(row))
    return
  }
  if (every !== undefined || off) {
    const schedule = every === undefined ? null : `every ${every.replace(/^every\s+/, '')}`
    const view = await client.call('heartbeatSet', { params: { id: agentId }, body: { schedule }, signal })
    terminal.printJson(view)
    rows([view]).forEach((row) => terminal.print(row))
    if (view.schedule !== null) terminal.hint(await heartbeatCost(context, agentId, view.schedule))
    return
  }
  terminal.progress.step(`Running the heartbeat of ${agentId}`)
  const body = { if_needed: ifNeeded }
  const end = await client.call('heartbeatRun', {
    params: { id: agentId },
    body,
    confirmsRead: true,
    signal,
  })
  terminal.progress.done()
  terminal.printJson(end)
  if (end.run) terminal.printText(runText(end.run, terminal))
  else terminal.hint(skipWords(agentId, end.skipped ?? ''))
  if (!end.run) return
  await confirmRead(client, end.run)
  context.setExitCode(exitCodeOfRun(end.run))
}

/** Says what a day costs at the model's price. Never rejects, because the caller may be denied the prices. */
export async function heartbeatCost(
  { mesh, signal }: CommandContext,
  agentId: string,
  schedule: string,
): Promise<string> {
  try {
    const client = await mesh()
    const [{ agents }, { models }] = await Promise.all([
      client.call('status', { signal }),
      client.call('models', { signal }),
    ])
    const name = agents.find(({ id }) => id === agentId)?.model
    return describeHeartbeatCost(schedule, heartbeatModel(models, name))
  } catch {
    return describeHeartbeatCost(schedule, null)
  }
}

/** Says why the heartbeat was skipped, and how to run it. */
const skips: Readonly<Record<string, string>> = {
  'nothing-to-do': 'the rules of the agent are the default, nothing has changed, and nothing waits',
  overlap: 'the previous heartbeat is still running or queued',
  archived: 'the agent is archived',
  paused: 'the agent is paused',
}

function skipWords(agentId: string, reason: string): string {
  const why = `Skipped (${reason}): ${skips[reason] ?? 'the mesh decided so'}.`
  return reason === 'archived' ? why : `${why} To run it anyway: flotilla heartbeat ${agentId}`
}

function runText(run: RunView, terminal: Terminal): string {
  const result = run.outcome?.result
  const quiet =
    typeof result === 'object' && result !== null && 'outcome' in result && result['outcome'] === 'quiet'
  if (quiet) return terminal.typed(`Nothing to report: flotilla runs ${run.id}`)
  return run.outcome?.text ?? terminal.typed(`The run is ${run.state}: flotilla runs ${run.id}`)
}

function endWords({ skipped, run_id: runId, rules_left_out: leftOut }: HeartbeatFire): string {
  if (skipped !== null) return `skipped: ${skipped}`
  const cut = leftOut > 0 ? `; ${leftOut} characters of HEARTBEAT.md did not fit; shorten it` : ''
  return `ran: ${runId ?? ''}${cut}`
}

export function rows(heartbeats: readonly HeartbeatView[]): string[] {
  return renderTable(
    [{ title: 'AGENT' }, { title: 'INTERVAL' }, { title: 'LAST (UTC)' }, { title: 'RESULT' }],
    heartbeats.map(({ agent_id: id, schedule, locked, archived, last }) => [
      id,
      archived ? 'archived' : `${schedule ?? 'manual only'}${locked && schedule !== null ? ' (locked)' : ''}`,
      last ? formatTime(last.at) : 'never',
      last ? endWords(last) : '',
    ]),
  )
}

function misused(detail: string): CommandFailed {
  return new CommandFailed('bad-parameters', {
    detail,
    repair: 'Example: flotilla heartbeat scout --every 30m',
    exitCode: exitCodes.usage,
  })
}
