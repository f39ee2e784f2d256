import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { oneLine } from '../terminal/color.ts'
import { formatBytes, formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addArtifactsCommand(program: Command, deps: CliDeps): void {
  const artifacts = program
    .command('artifacts')
    .description('Lists what agents saved outside their containers, newest first.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla artifacts\n  $ flotilla artifacts --help   the commands for one of them',
    )
    .action(commandAction(deps, list))
  artifacts
    .command('save')
    .summary('write an artifact to a file')
    .description('Writes one artifact to a file of this machine; - writes it to standard output.')
    .argument('<agent>', 'id of the agent')
    .argument('<name>', 'name of the artifact')
    .argument('[file]', 'target file; default: the name of the artifact, in this folder')
    .addHelpText('after', '\nExample:\n  $ flotilla artifacts save auditor report.md -')
    .action(commandAction(deps, save))
}

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('artifacts', { signal })
  terminal.printJson(reply)
  if (reply.artifacts.length === 0) return terminal.print('No artifacts yet.')
  terminal.print(
    ...renderTable(
      [
        { title: 'AGENT' },
        { title: 'NAME' },
        { title: 'SIZE', align: 'right' },
        { title: 'SAVED (UTC)' },
        { title: 'DESCRIPTION' },
      ],
      reply.artifacts.map((artifact) => [
        artifact.agent_id,
        artifact.name,
        formatBytes(artifact.size_bytes),
        formatTime(artifact.saved_at),
        oneLine(artifact.description, 60),
      ]),
    ),
  )
}

async function save(context: CommandContext, line: CommandLine): Promise<void> {
  const agent = operand(line, 0)
  const name = operand(line, 1)
  // An agent chose the name, so only its last path segment is used as a file name here.
  const file = line.operands[2] ?? basename(name)
  const bytes = await (
    await context.mesh()
  ).bytes('artifact', { params: { agent, name }, signal: context.signal })
  if (file === '-') {
    const text = new TextDecoder().decode(bytes)
    // At a terminal, control characters are removed; another program receives the raw bytes.
    return context.terminal.isInteractive
      ? context.terminal.printText(text)
      : context.terminal.stream(`${text}\n`)
  }
  await writeFile(file, bytes)
  context.terminal.printJson({ file, size_bytes: bytes.length })
  context.terminal.print(`${file}: ${formatBytes(bytes.length)}`)
}
