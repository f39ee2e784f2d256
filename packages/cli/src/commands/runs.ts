import { upTo } from '@flotilla/protocol/up-to'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { SteerView } from '@flotilla/protocol/steer'
import type { Command } from 'commander'
import { commandAction, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine } from '../terminal/color.ts'
import { formatDuration, formatTime, formatUsd } from '../terminal/format.ts'
import { aboutRun, runRows, titlesOf } from './fleet-rows.ts'

export function addRunsCommand(program: Command, deps: CliDeps): void {
  program
    .command('runs')
    .description('Lists runs, newest first, or shows one run with its outcome.')
    .argument('[run]', 'id of one run')
    .option('--agent <id>', 'only runs of this agent')
    .option('--limit <count>', 'how many', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla runs --agent auditor --limit 5\n  $ flotilla runs run_0123456789abcdef',
    )
    .action(commandAction(deps, runs))
  program
    .command('cancel')
    .description('Cancels a queued, waiting or running run, or rejects an approval that waits for you.')
    .argument('<id>', 'id of the run, or of an entry of flotilla pending')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla cancel run_0123456789abcdef\n  $ flotilla cancel appr_0123456789abcdef',
    )
    .action(commandAction(deps, cancel))
}

async function runs(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const id = line.operands[0]
  if (id !== undefined) return showRun(context, id)
  const agent = textOption(line, 'agent')
  const limit = numberOption(line, 'limit') ?? 50
  const reply = await client.call('runs', {
    query: { limit, ...(agent === undefined ? {} : { agent }) },
    signal,
  })
  terminal.printJson(reply)
  if (terminal.json) return
  const titles = await titlesOf(client, {
    runs: reply.runs,
    limit,
    signal,
    ...(agent === undefined ? {} : { agent }),
  })
  terminal.print(...(reply.runs.length === 0 ? ['No runs yet.'] : runRows(reply.runs, titles)))
}

async function showRun(context: CommandContext, id: string): Promise<void> {
  const { terminal } = context
  const client = await context.mesh()
  const run = await client.call('run', { params: { id }, signal: context.signal })
  terminal.printJson(run)
  const titles = new Map<string, string>()
  if (run.input.kind === 'task' && !terminal.json) {
    const { task_id: taskId } = run.input
    const found = await client.call('task', { params: { id: taskId }, signal: context.signal }).catch(noTask)
    if (found !== null) titles.set(taskId, found.task.title)
  }
  terminal.print(
    `${terminal.color.strong(run.id)} ${run.kind} of ${run.agent_id}, ${run.state}`,
    `asked by   ${run.origin.kind} through ${run.origin.channel}`,
    `about      ${aboutRun(run, titles)}`,
    `created    ${formatTime(run.created_at)} UTC, attempt ${run.attempt}`,
    ...(run.started_at !== null && run.ended_at !== null
      ? [`took       ${formatDuration(run.ended_at - run.started_at)}`]
      : []),
    `spent      ${upTo(`${run.tokens_used}`, run.unconfirmed_tokens)} tokens, ${upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}`,
    ...(run.reported_tokens === 0
      ? []
      : [`           ${run.reported_tokens} of these tokens reported by the harness, unpriced`]),
    ...(run.parent_id === null ? [] : [`parent     ${run.parent_id}`]),
    ...(run.task_id === null ? [] : [`task       ${run.task_id}`]),
    ...(run.waiting_on.length === 0 ? [] : [`waits for  ${run.waiting_on.join(', ')}`]),
    ...run.steers.map((steer) => `steered    ${steerWords(run, steer)}`),
    ...(run.outcome === null
      ? []
      : [
          `outcome    ${run.outcome.status}${run.outcome.code === undefined ? '' : ` (${run.outcome.code})`}`,
          '',
        ]),
  )
  if (run.outcome !== null) terminal.printText(run.outcome.text)
}

/** Returns null for a task that no longer exists, because runs are stored longer; throws other errors. */
function noTask(error: unknown): null {
  if (error instanceof Problem && error.code === 'not-found') return null
  throw error
}

function steerWords(run: RunView, steer: SteerView): string {
  const steerText = `${formatTime(steer.created_at)} “${oneLine(steer.text, 80)}”`
  if (steer.became_run_id === run.id) {
    return `${steerText}: this run, ${steer.run_id === null ? 'the agent was not at work' : `too late for ${steer.run_id}`}`
  }
  if (steer.state === 'became-run') return `${steerText}: too late, run ${steer.became_run_id} of its own`
  if (steer.state === 'returned') return `${steerText}: not read, the run was stopped`
  return steer.state === 'taken'
    ? `${steerText}: read after step ${steer.step}`
    : `${steerText}: not read yet`
}

async function cancel(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const id = operand(line, 0)
  if (id.startsWith('appr_')) {
    const cancelled = await client.call('pendingCancel', { params: { id }, signal: context.signal })
    context.terminal.printJson(cancelled)
    context.terminal.print(`${cancelled.id} is ${cancelled.state}: it will not be carried out.`)
    return
  }
  const run = await client.call('runCancel', { params: { id }, signal: context.signal })
  context.terminal.printJson(run)
  context.terminal.print(`${run.id} is ${run.state}.`)
}
