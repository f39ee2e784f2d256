import { writeFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import type { Command } from 'commander'
import { commandAction, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/color.ts'

export function addExportCommand(program: Command, deps: CliDeps): void {
  program
    .command('export')
    .description(
      'Writes the workers as a template from which flotilla apply creates the same ones: instructions, permissions, budgets, settings, texts and files as last given, skills, webhooks, jobs, watches, file watchers, and the goals, texts and budgets of their projects. It does not contain secrets, data or history. Permissions that a template cannot grant are left out and listed, each with the command that sets it.',
    )
    .argument('[agents...]', 'only these workers')
    .option('-o, --output <file>', 'file to write; default: standard output')
    .option('--name <name>', 'name of the template', 'fleet')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla export -o fleet.yaml --name fleet\n  $ flotilla export watcher clerk | less\n  $ flotilla --home /srv/other apply ./fleet.yaml',
    )
    .action(commandAction(deps, exportFleet))
}

async function exportFleet(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const file = textOption(line, 'output')
  const name = textOption(line, 'name') ?? 'fleet'
  const reply = await (
    await context.mesh()
  ).call('fleetExport', {
    query: { name, ...(line.operands.length === 0 ? {} : { agents: line.operands.join(',') }) },
    signal,
  })
  if (file !== undefined) await write(file, reply.text)
  terminal.printJson({ ...reply, file: file ?? null })
  if (file === undefined) terminal.printText(reply.text.replace(/\n$/, ''))
  else
    terminal.hint(
      `${file} contains the fleet. To create it elsewhere: flotilla apply ${isAbsolute(file) ? file : `./${file}`}`,
    )
  for (const { what, why, command } of reply.left_out) {
    terminal.note(
      terminal.color.warning(`Left out: ${printable(what)} (${printable(why)}).`),
      ...(command === null ? [] : [`  By hand: ${printable(terminal.typed(command))}`]),
    )
  }
}

/** Writes a new file and never overwrites an existing one. */
async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    throw new CommandFailed('not-written', {
      detail: isThere ? `${file} already exists.` : `${file} cannot be written: ${String(error)}`,
      repair: 'Name another file with -o.',
      exitCode: exitCodes.usage,
    })
  }
}
