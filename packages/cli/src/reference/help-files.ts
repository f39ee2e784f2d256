import type { Command } from 'commander'
import { helpWidths } from '../help-width.ts'
import { wholeHelpName } from '../written-help.ts'
import type { TextSink } from '../terminal/text-sink.ts'
import type { HelpFile } from '../written-help.ts'

/** Makes a program that writes to a sink: with all its commands, or with only their names. */
export type ProgramFor = (meant: 'all' | 'none', out: TextSink) => Promise<Command>

/** Generates the files that `writtenHelp` reads, one for each first word of the command line. */
export async function helpFiles(
  programFor: ProgramFor,
): Promise<readonly { readonly name: string; readonly contents: string }[]> {
  const files = new Map<string, Record<string, Record<string, string>>>()
  for (const columns of helpWidths) {
    let text = ''
    const out = { columns, write: (piece: string) => (text += piece) }
    const walk = (command: Command, path: string): void => {
      text = ''
      command.outputHelp()
      const [first = ''] = path.split(' ')
      const file = files.get(first) ?? {}
      file[columns] = { ...file[columns], [path]: text }
      files.set(first, file)
      if (path !== '') for (const child of command.commands) walk(child, `${path} ${child.name()}`)
    }
    walk(await programFor('none', out), '')
    for (const command of (await programFor('all', out)).commands) walk(command, command.name())
  }
  return [...files].map(([first, file]) => ({
    name: `${first === '' ? wholeHelpName : first}.json`,
    contents: JSON.stringify(file satisfies HelpFile),
  }))
}
