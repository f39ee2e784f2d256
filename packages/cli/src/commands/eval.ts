import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { evalBounds, readEvalFile } from '../evals/eval-file.ts'
import type { CaseResult, EvalResult } from '../evals/run-eval.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine } from '../terminal/color.ts'
import { formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addEvalCommand(program: Command, deps: CliDeps): void {
  program
    .command('eval')
    .description(
      'Runs every case of a file against an agent, each in its own conversation, and judges the answer, tool calls and artifacts by patterns, by your programs or by a model. Exit code 1 when fewer cases pass than the file requires. Tool calls are real: use a separate home for evaluations. Files that cases upload are not removed.',
    )
    .argument('<file>', 'cases as YAML or JSON')
    .option('--agent <id>', 'use this agent instead of that in the file')
    .option(
      '--concurrency <count>',
      `how many cases at a time (default: as in the file, or ${evalBounds.concurrencyDefault})`,
      wholeNumber(1, evalBounds.concurrencyMax),
    )
    .option('--programs', 'run the programs that the file names, with your rights')
    .addHelpText(
      'after',
      `
A file of cases:

  name: auditor
  agent: auditor
  bar: 0.8                    # part of the cases that must pass; 1 where it is left out
  max_usd: 2                  # of all cases together, those that judge too
  concurrency: 2
  judge: { model: openai/gpt-5-mini }       # or { agent: some-agent }
  cases:
    - name: counts exactly
      ask: How many lines has input/list.txt?
      files: { input/list.txt: "a\\nb\\n" }
      tools: [run_command]    # in this order, others may stand between
      never: [http_request]
      max_usd: 0.20
      timeout_seconds: 120
      checks:
        - matches: '\\b2\\b'
        - lacks: I think
        - artifact: { name: report.md, contains: '2 lines' }
        - program: node check.mjs             # the case as JSON on its input; needs --programs
        - judge: The answer names the command that counted.
    - name: keeps the blackboard
      ask: Write the number to output/lines.
      tools:
        - { tool: write_blackboard, arguments: { key: output/lines } }

Examples:
  $ flotilla eval cases.yaml
  $ flotilla eval cases.yaml --agent auditor-2 --programs --json > result.json`,
    )
    .action(commandAction(deps, evaluate))
}

async function evaluate(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, clock, newKey, signal } = context
  // Loaded only here, because the help of this command does not need the judge.
  const { makeJudge } = await import('../evals/make-judge.ts')
  const { runEval } = await import('../evals/run-eval.ts')
  const path = operand(line, 0)
  const source = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandFailed('file-unreadable', {
      detail: `${path} cannot be read: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: 'flotilla eval --help shows an example file.',
      exitCode: exitCodes.usage,
    })
  })
  const read = readEvalFile(source, textOption(line, 'agent'))
  const file = { ...read, concurrency: numberOption(line, 'concurrency') ?? read.concurrency }
  const client = await context.mesh()
  const judging = file.judge === undefined ? null : await makeJudge({ client, newKey, signal }, file.judge)
  let judged = 0
  const ended = terminal.working(() => `${judged} of ${file.cases.length} cases judged`)
  const onCase = (result: CaseResult, done: number) => {
    judged = done
    terminal.note(
      `${done}/${file.cases.length} ${result.passed ? terminal.color.good('pass') : terminal.color.bad('fail')} ${oneLine(result.name, 80)} (${result.seconds} s, ${formatUsd(result.cost_usd)})`,
    )
  }
  try {
    const programFolder = flagOption(line, 'programs') ? dirname(resolve(path)) : null
    const result = await runEval(
      { client, clock, newKey, signal, programFolder, onCase },
      file,
      judging?.judge ?? null,
    ).finally(ended)
    terminal.printJson(result)
    terminal.print(...resultRows(result))
    if (!result.passed) context.setExitCode(exitCodes.failed)
  } finally {
    await judging?.end()
  }
}

function resultRows({ name, bar, score, passed, cost_usd: cost, cases }: EvalResult): string[] {
  const percent = (part: number) => `${Math.round(part * 1000) / 10} %`
  return [
    ...renderTable(
      [
        { title: 'CASE', columnsMax: 40 },
        { title: 'RESULT' },
        { title: 'TIME', align: 'right' },
        { title: 'COST', align: 'right' },
        { title: 'RUN' },
        { title: 'WHY', columnsMax: 70 },
      ],
      cases.map((one) => [
        oneLine(one.name, 100),
        one.passed ? 'pass' : 'FAIL',
        `${one.seconds} s`,
        formatUsd(one.cost_usd),
        one.run_id ?? '',
        oneLine(one.failures.join('; '), 300),
      ]),
    ),
    `${name}: ${cases.filter((one) => one.passed).length} of ${cases.length} pass (${percent(score)}), ${passed ? 'at or above' : 'below'} the bar of ${percent(bar)}. It cost ${formatUsd(cost)}.`,
  ]
}
