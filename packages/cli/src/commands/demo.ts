import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { isolationAsked, isolationOption, nothingIsolated, sandboxOption } from './start.ts'

export function addDemoCommand(program: Command, deps: CliDeps): void {
  program
    .command('demo')
    .description(
      'Starts a fleet in a temporary home, lets it find the licences of the dependencies of this project, checks the answer, tries to break out of a worker, shows the cost, and removes everything. Exit code 0 only if the answer is right and no attack succeeded.',
    )
    .addOption(
      new Option('--runtime <name>', 'how agents are run; process has no isolation').choices([
        'docker',
        'process',
        'kubernetes',
      ]),
    )
    .addOption(isolationOption())
    .addOption(sandboxOption())
    .option('--keep', 'keep the temporary home and its containers')
    .addHelpText(
      'after',
      `
Without a key the decisions of the models come from a recorded cassette; every tool call is real.
With a real model:
  $ FLOTILLA_SYSTEM_OPENAI_API_KEY=sk-... FLOTILLA_DEFAULT_MODEL=openai/gpt-5-mini flotilla demo
  $ FLOTILLA_SYSTEM_OPENAI_BASE_URL=http://127.0.0.1:11434/v1 FLOTILLA_DEFAULT_MODEL=openai/qwen3 flotilla demo`,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla demo\n  $ flotilla demo --keep   leaves its home, to look around in',
    )
    .action(commandAction(deps, demo))
}

async function demo(context: CommandContext, line: CommandLine): Promise<void> {
  const runtime = textOption(line, 'runtime') as RuntimeName | undefined // commander checked the choice
  const isolation = isolationAsked(line)
  if (runtime === 'process' && isolation !== undefined) throw nothingIsolated()
  // Loaded only here, because the help of this command does not need the demo.
  const { runDemo } = await import('../demo/run-demo.ts')
  const report = await runDemo(context, {
    runtime,
    isolation,
    keep: flagOption(line, 'keep'),
  })
  context.terminal.printJson(report)
  context.setExitCode(report.passed ? exitCodes.ok : exitCodes.failed)
}
