import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseAst } from 'vitest/node'
import { keepTerminal } from '../fake-terminal.ts'
import { asTyped, commandFor, helpAsTyped } from './typed-command.ts'

it('a hint leaves what is no command, and what has been said so already', () => {
  const said = 'See /opt/flotilla data, npx flotilla start, journalctl -u flotilla, flotilla AGENT.'
  expect(asTyped(said, 'npx flotilla')).toBe(said)
  expect(asTyped('flotilla cron list shows them', 'flotilla')).toBe('flotilla cron list shows them')
})

it('a hint names the program in the use and the examples of a help, and leaves its prose', () => {
  const help = [
    'Usage: flotilla chat [options]',
    'As flotilla runs shows it.',
    '  $ git diff | flotilla chat reviewer -     asks flotilla',
    '  $ curl http://127.0.0.1/flotilla -d x',
  ]
  expect(helpAsTyped(help.join('\n'), 'npx flotilla').split('\n')).toEqual([
    'Usage: npx flotilla chat [options]',
    'As flotilla runs shows it.',
    '  $ git diff | npx flotilla chat reviewer -     asks flotilla',
    '  $ curl http://127.0.0.1/flotilla -d x',
  ])
})

it.each([
  [['status'], 'flotilla'],
  [['status', '--home', '/srv/fleet'], 'flotilla --home /srv/fleet'],
  [['--home=/srv/my fleet', 'status'], "flotilla --home '/srv/my fleet'"],
  [['chat', 'scout', '--', '--home', 'x'], 'flotilla'],
  [['status', '--home'], 'flotilla'],
])('a hint means the home that %j named', (words, command) => {
  expect(commandFor('flotilla', words)).toBe(command)
})

it('a hint is how hints and errors name commands, and leaves what other people wrote', () => {
  const { terminal, out, err } = keepTerminal({ command: 'npx flotilla' })
  terminal.hint('Next: flotilla start')
  terminal.print('“Run flotilla start”, says scout')
  terminal.tell({ detail: 'None.', code: 'none', repair: 'flotilla start' })
  expect(out.text()).toBe('Next: npx flotilla start\n“Run flotilla start”, says scout\n')
  expect(err.text()).toContain('next npx flotilla start')
})

/** Functions that print their text unchanged, because other programs or people wrote it. */
const asItIs = new Set(['print', 'printText', 'note', 'stream'])
const sources = join(import.meta.dirname, '..')

it('every message of the CLI that names a command uses the typed command', () => {
  const bare = globSync('**/*.ts', { cwd: sources })
    .filter((name) => !name.includes('.test.'))
    .flatMap((name) =>
      commandsPrinted(readFileSync(join(sources, name), 'utf8')).map((said) => `${name}: ${said}`),
    )
  expect(bare, 'say it with terminal.hint, or by terminal.typed').toEqual([])
  expect(commandsPrinted('terminal.print(`${who} is well: flotilla status`)')).toHaveLength(1)
})

/** Texts in a source that name a command and are printed unchanged. */
function commandsPrinted(source: string): string[] {
  const found: string[] = []
  const visit = (node: unknown, speaks: boolean): void => {
    if (Array.isArray(node)) return node.forEach((one) => visit(one, speaks))
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    const { type, ...parts } = node as { type: string; [part: string]: unknown }
    const text =
      type === 'Literal' ? parts['value'] : (parts['value'] as { cooked?: unknown } | undefined)?.cooked
    if (speaks && typeof text === 'string' && asTyped(text, '') !== text) found.push(text)
    const called = (parts['callee'] as { property?: { name?: string } } | undefined)?.property?.name
    const isCall = type === 'CallExpression' && called !== undefined
    const inside = isCall && called !== 'flatMap' && called !== 'map' ? asItIs.has(called) : speaks
    for (const part of Object.values(parts)) visit(part, inside)
  }
  visit(parseAst(source, { lang: 'ts' }), false)
  return found
}
