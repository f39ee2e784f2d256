import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { helpColumns, helpWidths } from './help-width.ts'

/** Help texts for one first word, by width and by command: `{ "80": { "cron add": "Usage: …" } }`. */
export type HelpFile = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Name of the file with the help of the whole command line. */
export const wholeHelpName = 'flotilla'

/**
 * Returns the help for this line from the build. Null for any other line, for a terminal narrower than all generated
 * texts, or without a build. Making the text at run time takes three times as long as starting Node.
 */
export function writtenHelp(
  words: readonly string[],
  { folder, columns }: { readonly folder: string; readonly columns: number | undefined },
): string | null {
  const path = askedPath(words)
  const width = helpColumns(columns)
  if (path === null || !helpWidths.includes(width)) return null
  const [name = ''] = path.split(' ')
  if (!/^[a-z-]*$/.test(name)) return null
  try {
    const file = readFileSync(join(folder, `${name === '' ? wholeHelpName : name}.json`), 'utf8')
    const help: unknown = Object(JSON.parse(file))
    const text: unknown = Reflect.get(Object(Reflect.get(Object(help), String(width))), path)
    return typeof text === 'string' ? text : null
  } catch {
    return null
  }
}

/** Returns `cron add` for `cron add --help` and `help cron add`; null for a line with any other option. Pure. */
export function askedPath(words: readonly string[]): string | null {
  if (words.length === 0) return ''
  const [first, last] = [words[0], words.at(-1)]
  const named =
    last === '--help' || last === '-h' ? words.slice(0, -1) : first === 'help' ? words.slice(1) : null
  return named === null || named.includes('help') || named.some((word) => word.startsWith('-'))
    ? null
    : named.join(' ')
}
