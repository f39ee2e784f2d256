import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { drawWaterfall } from '../terminal/waterfall.ts'

const columnsDefault = 100

export function addTraceCommand(program: Command, deps: CliDeps): void {
  program
    .command('trace')
    .description(
      'Draws the whole trace of a run: its time in the queue, model calls, tools, and the runs that it handed off. The mesh stores traces for 7 days, or traces.keep_days of config/settings.json.',
    )
    .argument('<run>', 'id of any run of the trace')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla trace run_0123456789abcdef\n  $ flotilla trace run_0123456789abcdef --json | jq ".spans[].name"',
    )
    .action(commandAction(deps, showTrace))
}

async function showTrace(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const trace = await (await context.mesh()).call('runTrace', { params: { id }, signal })
  terminal.printJson(trace)
  const runs = new Set(trace.spans.map((span) => span.run_id)).size
  terminal.print(
    `${terminal.color.strong(trace.trace_id)}  ${runs === 1 ? '1 run' : `${runs} runs`}, ${trace.spans.length} spans`,
    '',
    ...drawWaterfall(trace, {
      columns: context.out.columns ?? columnsDefault,
      color: terminal.color,
      now: context.clock.now(),
    }),
  )
  if (trace.truncated) terminal.note('The trace is longer; only its earliest spans are shown.')
  const hasParts = trace.spans.some((span) => span.parent_id !== null && span.kind === 'client')
  if (!hasParts && trace.kept_days === 0) {
    terminal.note('Traces are not stored: traces.keep_days is 0 in config/settings.json.')
  }
}
