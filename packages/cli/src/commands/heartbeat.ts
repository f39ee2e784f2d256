import type { HeartbeatFire, HeartbeatView } from '@flotilla/protocol/heartbeat-api'
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
import { sayRead } from '../say-read.ts'
import { exitCodeOfRun } from './chat.ts'

export function addHeartbeatCommand(program: Command, deps: CliDeps): void {
  program
    .command('heartbeat')
    .description(
      'With an agent, runs its heartbeat now, whatever there is to do, and prints what came of it. --every and --off set how often it looks around by itself; the operator does so every 15m, always. Without an agent, lists all.',
    )
    .argument('[agent]', 'id of the agent')
    .option('--every <time>', 'by itself, so often: 30m, 2h, 1d')
    .option('--off', 'not by itself')
    .option('--if-needed', 'now, but only where it would run by itself')
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
  if (every !== undefined && off) throw misused('say --every or --off, not both')
  const ifNeeded = flagOption(line, 'ifNeeded')
  if (agentId === undefined && (every !== undefined || off || ifNeeded)) throw misused('say which agent')
  if (ifNeeded && (every !== undefined || off)) throw misused('--if-needed is for a heartbeat now')
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
    return
  }
  terminal.progress.step(`${agentId} looks around`)
  const body = { if_needed: ifNeeded }
  const end = await client.call('heartbeatRun', {
    params: { id: agentId },
    body,
    saysWhenRead: true,
    signal,
  })
  terminal.progress.done()
  terminal.printJson(end)
  if (end.run) terminal.printText(words(end.run, terminal))
  else terminal.hint(skipWords(agentId, end.skipped ?? ''))
  if (!end.run) return
  await sayRead(client, end.run)
  context.setExitCode(exitCodeOfRun(end.run))
}

/** Why it did not run, and how it does. */
const skips: Readonly<Record<string, string>> = {
  'nothing-to-do': 'its rules are the default, nothing went on, and nothing waits',
  overlap: 'the heartbeat before goes on, or waits for its turn',
  archived: 'the agent is archived',
  paused: 'it is paused',
}

function skipWords(agentId: string, reason: string): string {
  const why = `Skipped (${reason}): ${skips[reason] ?? 'the mesh decided so'}.`
  return reason === 'archived'
    ? why
    : `${why} It looks around all the same with: flotilla heartbeat ${agentId}`
}

function words(run: RunView, terminal: Terminal): string {
  const result = run.outcome?.result
  const quiet =
    typeof result === 'object' && result !== null && 'outcome' in result && result['outcome'] === 'quiet'
  if (quiet) return terminal.typed(`Nothing to report: flotilla runs ${run.id}`)
  return run.outcome?.text ?? terminal.typed(`The run is ${run.state}: flotilla runs ${run.id}`)
}

function endWords({ skipped, run_id: runId, rules_left_out: leftOut }: HeartbeatFire): string {
  if (skipped !== null) return `skipped: ${skipped}`
  const cut = leftOut > 0 ? `; ${leftOut} characters of HEARTBEAT.md did not fit: make it shorter` : ''
  return `ran: ${runId ?? ''}${cut}`
}

export function rows(heartbeats: readonly HeartbeatView[]): string[] {
  return renderTable(
    [{ title: 'AGENT' }, { title: 'LOOKS AROUND' }, { title: 'LAST (UTC)' }, { title: 'WHAT CAME OF IT' }],
    heartbeats.map(({ agent_id: id, schedule, locked, archived, last }) => [
      id,
      archived
        ? 'archived'
        : `${schedule ?? 'by hand alone'}${locked && schedule !== null ? ' (locked)' : ''}`,
      last ? formatTime(last.at) : 'never',
      last ? endWords(last) : '',
    ]),
  )
}

function misused(detail: string): CommandFailed {
  return new CommandFailed('bad-parameters', {
    detail,
    repair: 'Like this: flotilla heartbeat scout --every 30m',
    exitCode: exitCodes.usage,
  })
}
