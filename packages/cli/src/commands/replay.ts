import { upTo } from '@flotilla/protocol/up-to'
import type { MeshClient } from '@flotilla/client/mesh-client'
import type { Comparison, Difference, RunRecordView } from '@flotilla/protocol/replay-api'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { formatOutcome } from '../repl/format-outcome.ts'
import { oneLine, printable } from '../terminal/color.ts'
import { errorLines } from '../terminal/format-error.ts'
import { formatCount, formatTime, formatUsd } from '../terminal/format.ts'
import { exitCodeOfRun } from './chat.ts'

/** The polling interval for a replayed run, milliseconds. */
const pollMs = 300

export function addReplayCommands(program: Command, deps: CliDeps): void {
  program
    .command('replay')
    .description(
      'Runs the agent through a finished run again with the recorded answers of its model. Tool results come from the record, so nothing is executed. Reports differences; exit code 1 if there are any. Records are kept according to run_records in config/settings.json, 7 days by default.',
    )
    .argument('<run>', 'id of the run')
    .option('--record', 'only show the record, step by step')
    .option(
      '--turn <number>',
      'only this turn; a run has one more turn for each time it waited',
      wholeNumber(1, 1000),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla replay run_0123456789abcdef --record\n  $ flotilla replay run_0123456789abcdef\n  $ flotilla replay run_0123456789abcdef --json | jq .same',
    )
    .action(commandAction(deps, replay))
  program
    .command('fork')
    .description(
      'Starts a run of the same agent in a new conversation. Everything before the step comes from the record; from that step the other model answers and its tool calls are real, within the budgets of the agent. Effects of the first run are not undone. The fork of a task is a chat and completes no task.',
    )
    .argument('<run>', 'id of the run')
    .requiredOption('--model <name>', 'model that answers from that step')
    .option(
      '--step <number>',
      'first step that it answers, as numbered by flotilla replay RUN --record',
      wholeNumber(1, 100_000),
      1,
    )
    .option('--max-usd <usd>', 'spending limit in US dollars', usd)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla fork run_0123456789abcdef --model anthropic/claude-opus-5\n  $ flotilla fork run_0123456789abcdef --model openai/gpt-5-mini --step 4 --max-usd 0.50',
    )
    .action(commandAction(deps, fork))
}

export function usd(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value > 0) || value > 1_000_000)
    throw new InvalidArgumentError('Expected US dollars, such as 0.50.')
  return value
}

async function replay(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const client = await context.mesh()
  if (flagOption(line, 'record')) {
    const record = await client.call('runRecord', { params: { id }, signal })
    terminal.printJson(record)
    terminal.print(...recordRows(record))
    return
  }
  const only = numberOption(line, 'turn')
  const comparisons: Comparison[] = []
  for (let turn = only ?? 1, turns = turn; turn <= turns; turn += 1) {
    const begun = await client.call('runReplay', { params: { id }, body: { turn }, signal })
    turns = only ?? begun.turns
    terminal.progress.step(`Turn ${turn} of ${begun.turns}, as run ${begun.run.id}`)
    const run = await untilEnded(context, client, begun.run)
    comparisons.push(await client.call('runComparison', { params: { id: run.id }, signal }))
  }
  terminal.progress.done()
  const same = comparisons.every((one) => one.same)
  terminal.printJson({ run_id: id, same, turns: comparisons })
  terminal.print(...comparisons.flatMap((one) => comparisonRows(one)))
  if (!same) context.setExitCode(exitCodes.failed)
}

async function fork(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const client = await context.mesh()
  const maxUsd = numberOption(line, 'maxUsd')
  const begun = await client.call('runFork', {
    params: { id },
    body: {
      model: textOption(line, 'model') ?? '',
      step: numberOption(line, 'step') ?? 1,
      ...(maxUsd === undefined ? {} : { max_usd: maxUsd }),
    },
    signal,
  })
  terminal.progress.step(`Run ${begun.run.id} of ${begun.run.agent_id} continues`)
  const run = await untilEnded(context, client, begun.run)
  terminal.progress.done()
  const comparison = await client.call('runComparison', { params: { id: run.id }, signal })
  terminal.printJson({ run, comparison })
  if (run.outcome?.status === 'done') terminal.printText(printable(run.outcome.text))
  else terminal.print(...errorLines(formatOutcome(run), terminal.color, terminal.typed))
  terminal.print(
    '',
    ...comparisonRows(comparison),
    `Run ${run.id} took ${upTo(`${run.tokens_used}`, run.unconfirmed_tokens)} tokens and ${upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}.`,
  )
  context.setExitCode(exitCodeOfRun(run))
}

/** Polls until the run has ended. Ctrl-C stops waiting, and the run continues in the mesh. */
export async function untilEnded(
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
  client: MeshClient,
  begun: RunView,
): Promise<RunView> {
  for (let run = begun; ; run = await client.call('run', { params: { id: run.id }, signal })) {
    if (isTerminal(run.state)) return run
    await clock.sleep(pollMs, signal)
  }
}

function recordRows({ run_id: id, agent_id: agent, cut, turns, steps, beside }: RunRecordView): string[] {
  return [
    `Run ${id} of ${agent}: ${formatCount(steps.length, 'step')} in ${formatCount(turns.length, 'turn')}${beside === 0 ? '' : `, ${formatCount(beside, 'answer')} beside them`}.`,
    ...(cut === null ? [] : [`Incomplete: ${cut}.`]),
    ...turns.flatMap(({ turn, asked }) => [
      `turn ${turn}: ${oneLine(asked, 200)}`,
      ...steps
        .filter((step) => step.turn === turn)
        .flatMap((step) => [
          `  ${step.step}. ${formatTime(step.at)} ${step.model}${step.text === '' ? '' : `: ${oneLine(step.text, 120)}`}`,
          ...step.calls.flatMap((call) => [
            `     ${call.tool} ${oneLine(call.arguments, 140)}`,
            `       ${call.result === null ? '(no result recorded)' : oneLine(call.result, 140)}`,
          ]),
        ]),
    ]),
  ]
}

function comparisonRows({ kind, turn, turns, steps, calls, same, differences, model }: Comparison): string[] {
  const what =
    kind === 'replay' ? `Replay of turn ${turn} of ${turns}` : `From the fork on, with ${model ?? ''}`
  const result = same ? 'as before' : 'with differences'
  return [
    `${what}: ${formatCount(steps, 'step')} and ${formatCount(calls, 'call')}, ${result}.`,
    ...differences.flatMap((difference) => differenceRows(difference)),
  ]
}

function differenceRows({ step, what, detail, before, after }: Difference): string[] {
  return [
    `  ${step === 0 ? 'end' : `step ${step}`}, ${what}: ${printable(detail)}`,
    ...(before === null ? [] : [`    then: ${oneLine(before, 160)}`]),
    ...(after === null ? [] : [`    now:  ${oneLine(after, 160)}`]),
  ]
}
