import logLineNotes from './log-line-notes.json' with { type: 'json' }
import { meshPackages } from '../tests/package-rules.ts'
import type { LogLine } from './log-lines.ts'

/** Cause and remedy of each log line, by its message. */
const notes: Readonly<Record<string, readonly string[]>> = logLineNotes

const zones = [
  { title: 'The mesh', packages: meshPackages.map(({ name }) => name) },
  { title: 'Agents', packages: ['agent'] },
  { title: 'The browser service', packages: ['browser'] },
]

/**
 * docs/reference/log-lines.md: every log line of level warn and above with its cause and remedy.
 *
 * @throws if a line has no note in log-line-notes.json, or a note has no line.
 */
export function logLineDocs(lines: readonly LogLine[]): string {
  const messages = new Set(lines.map(({ message }) => message))
  const wrong = [
    ...[...messages].filter((message) => !(message in notes)).map((message) => `no note: ${message}`),
    ...Object.keys(notes)
      .filter((message) => !messages.has(message))
      .map((message) => `no such log line: ${message}`),
  ]
  if (wrong.length > 0) throw new Error(`scripts/log-line-notes.json:\n${wrong.join('\n')}`)
  return [
    '# Log lines',
    '',
    'Generated from the sources by `npm run docs`: every log line of level warn and above, its cause and its remedy. A line',
    'says what was done, or `failed to ...` and what happens next. Ids are in fields, the error is in `err`. The log of the',
    'mesh is `data/mesh.log` in the home, and above 64 MiB its lines go to `data/mesh.log.1`; `flotilla logs AGENT` shows',
    'that of an agent. A remedy that begins with Nothing needs no action. To report an error, open an issue of the project',
    'with the whole line, after you have checked it for names that you do not want to publish.',
    ...zones.flatMap(({ title, packages }) => ['', `## ${title}`, '', ...tableOf(lines, packages)]),
    '',
  ].join('\n')
}

function tableOf(lines: readonly LogLine[], packages: readonly string[]): readonly string[] {
  const ofZone = lines.filter(({ path }) => packages.includes(path.split('/')[1] ?? ''))
  const rows = new Map(ofZone.map(({ level, message }) => [message, rowOf(level, message)]))
  return [
    '| level | log line | cause | remedy |',
    '|---|---|---|---|',
    ...[...rows].toSorted(([one], [other]) => one.localeCompare(other, 'en')).map(([, row]) => row),
  ]
}

function rowOf(level: string, message: string): string {
  const [cause = '', remedy = ''] = notes[message] ?? []
  return `| ${level} | ${message} | ${cause} | ${remedy} |`
}
