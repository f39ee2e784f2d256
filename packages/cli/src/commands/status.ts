import type { Command } from 'commander'
import type { Reply } from '@flotilla/client/mesh-call'
import { commandAction, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { RunView } from '@flotilla/protocol/run'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { isMeshOf, supervisionOf } from '../mesh-process/supervision.ts'
import type { Supervision } from '../mesh-process/supervision.ts'
import { formatDuration } from '../terminal/format.ts'
import { agentRows } from './fleet-rows.ts'
import { pauseWords } from './pause.ts'

const watchDefaultSeconds = 2
/** How long a failed run is shown as the last error of its agent, in milliseconds. */
const failuresOfMs = 24 * 3_600_000
/** The most failed runs that are asked for. */
const failuresMax = 100

export function addStatusCommand(program: Command, deps: CliDeps): void {
  program
    .command('status')
    .description('Shows the mesh, its agents, their queues and their spend.')
    .option('-w, --watch [seconds]', 'refresh it until Ctrl-C', wholeNumber(1, 3600))
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla status\n  $ flotilla status --watch 5\n  $ flotilla status --json | jq .agents',
    )
    .action(commandAction(deps, status))
}

async function status(context: CommandContext, line: CommandLine): Promise<void> {
  const watch = line.options['watch'] === true ? watchDefaultSeconds : numberOption(line, 'watch')
  const client = await context.mesh()
  const { signal } = context
  const ask = async () => {
    const since = context.clock.now() - failuresOfMs
    const [reply, { runs }] = await Promise.all([
      client.call('status', { signal }),
      client.call('runs', { query: { state: 'failed', limit: failuresMax, since }, signal }),
    ])
    return { reply, failed: runs }
  }
  if (watch === undefined) return await show(context, await ask())
  const ended = new AbortController()
  const giveBack = context.onInterrupt(() => ended.abort())
  while (!ended.signal.aborted) {
    const found = await ask()
    if (context.terminal.isInteractive) context.terminal.stream('\u001B[H\u001B[2J')
    await show(context, found)
    await context.clock.sleep(watch * 1000, ended.signal).catch(() => undefined)
  }
  giveBack()
}

async function show(
  { terminal, place, clock }: CommandContext,
  { reply, failed }: { readonly reply: Reply<'status'>; readonly failed: readonly RunView[] },
): Promise<void> {
  const { color } = terminal
  const supervision = await supervisionOf(place.home, reply.pid)
  const isHere = supervision !== null || (await isMeshOf(place.home, reply.pid))
  terminal.printJson({ ...reply, supervision })
  const counts = Object.entries(reply.runs).map(([state, count]) => `${count} ${state}`)
  terminal.hint(
    `Flotilla ${reply.version}, process ${reply.pid}, up ${formatDuration(reply.uptime_seconds * 1000)}, home ${reply.home}`,
    ...(isHere ? [supervisionWords(supervision, clock.now())] : []),
    reply.runtime.isolates
      ? `Runtime ${reply.runtime.kind}: agents are isolated.`
      : color.warning(`Runtime ${reply.runtime.kind}: the agents are not isolated.`),
    ...rungWords(reply.runtime, color),
    dataWords(reply.runtime),
    reply.default_model === null
      ? color.warning('Default model: none is set (flotilla doctor).')
      : `Default model: ${reply.default_model.name} (${reply.default_model.from}).`,
    readyWords(reply.ready, color),
    ...reply.ready.problems.map((problem) => `  ${color.bad('✗')} ${problem.id}: ${problem.detail}`),
    ...reply.pauses.map((pause) => color.warning(pauseWords(pause))),
    ...(reply.wallet_halt === null ? [] : [color.warning(haltWords(reply.wallet_halt))]),
    ...reply.notices.map((notice) => color.warning(`Note: ${notice}.`)),
    `Runs: ${counts.length === 0 ? 'none yet' : counts.join(', ')}`,
    '',
    ...agentRows(reply.agents, { failed, now: clock.now() }),
  )
}

function supervisionWords(supervision: Supervision | null, now: number): string {
  if (supervision === null) return 'Supervisor: none; a mesh that crashes is not restarted.'
  const { by, pid, restarts, last_exit: lastExit, last_exit_at: at } = supervision
  const last =
    lastExit === null ? '' : `, last exit ${lastExit}${at === null ? '' : ` ${formatDuration(now - at)} ago`}`
  return `Supervisor: ${by}${pid === null ? '' : ` (process ${pid})`}, restarted ${restarts} times${last}.`
}

function haltWords({ reason, next }: NonNullable<Reply<'status'>['wallet_halt']>): string {
  return `The wallet signs no payments: ${reason}. Next: ${next}`
}

function readyWords(
  { ready, problems }: Reply<'status'>['ready'],
  color: CommandContext['terminal']['color'],
) {
  if (!ready) return color.bad('Not ready to run agents:')
  return problems.length === 0 ? color.good('Ready.') : color.warning('Ready: agents run. Other problems:')
}

/** Describes the isolation of agents. Empty if only containers were requested. */
function rungWords(
  { isolation: { wanted, required, rungs } }: Reply<'status'>['runtime'],
  color: CommandContext['terminal']['color'],
): readonly string[] {
  const checked = rungs.filter(({ rung, available }) => rung !== 'container' && available !== null)
  const wish = wanted === required ? `${required}, required` : `${wanted}, or ${required} without it`
  return [
    ...(wanted === 'container' ? [] : [`Isolation of agents: ${wish}.`]),
    ...checked.map(({ rung, available, detail }) =>
      available ? `  ${rung}: ${detail}` : color.warning(`  ${rung} is not available: ${detail}`),
    ),
  ]
}

function dataWords({ data_bound: bound, data_limit_mb: limitMb }: Reply<'status'>['runtime']): string {
  const how = {
    volume: 'by a volume of that size',
    meter: 'measured every minute; an agent above the limit is stopped',
    unknown: 'not known yet how it is enforced',
  }[bound]
  return `Data of agents: ${limitMb} MB each, ${how}.`
}
