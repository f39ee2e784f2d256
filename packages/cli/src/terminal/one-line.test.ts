import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { CommandFailed } from '../command-failed.ts'
import { keepTerminal } from '../fake-terminal.ts'
import { historyLines, sessionRows } from '../repl/history-lines.ts'
import { createColor } from './color.ts'
import { formatError } from './format-error.ts'
import { renderTable } from './table.ts'

const breaks = ['\n', '\r\n', '\r', '\u0085', '\u2028', '\u2029', '\u000B', '\u000C']
/**
 * Text that breaks its line in every way that a terminal or pager knows, and moves the cursor to the start of a
 * line.
 */
const hostile = `ok${breaks.map((end) => `${end}✓ forged`).join('')}\u001B[2K\u001B[1G✓ forged\u001B[8m\u202E`

/** Every kind of output that consists of one line, or of lines that Flotilla writes, with hostile text in it. */
const kinds: Readonly<Record<string, (screen: ReturnType<typeof keepTerminal>) => void>> = {
  'a line of the result': ({ terminal }) => terminal.print(`run_1 is ${hostile}.`),
  'a colored line': ({ terminal }) => terminal.print(terminal.color.bad(`agent ${hostile}`)),
  'a note beside it': ({ terminal }) => terminal.note(`agent ${hostile}`),
  'a step under way': ({ terminal }) => {
    terminal.progress.step(`Starting ${hostile}`)
    terminal.progress.done(`Started ${hostile}`)
  },
  'a cell of a table': ({ terminal }) =>
    terminal.print(
      ...renderTable([{ title: 'A' }, { title: 'B', columnsMax: 400 }], [[`k${hostile}`, `v${hostile}`]]),
    ),
  'the detail of a problem': ({ terminal }) =>
    terminal.tell(formatError(new Problem('denied', { detail: hostile }))),
  'a failure of a command': ({ terminal }) => {
    const failed = new CommandFailed('mesh-ended', {
      detail: `ended\n  ${hostile}`,
      repair: 'Read it',
    })
    terminal.tell(formatError(failed))
  },
  'what an agent said in a conversation': ({ terminal }) => {
    const said = { role: 'assistant' as const, text: hostile, calls: [{ name: hostile, input: hostile }] }
    const history = { session: hostile, messages: [said], total: 2, rounds: 1, continues: 0, task_id: null }
    terminal.print(...historyLines(history, terminal.color))
  },
  'a list of conversations': ({ terminal }) =>
    terminal.print(
      ...sessionRows({
        sessions: [{ session: hostile, messages: 1, updated_at: 0, task_id: hostile }],
        total: 1,
      }),
    ),
}

test.each(
  Object.entries(kinds).flatMap(([kind, show]) => [false, true].map((isTTY) => ({ kind, show, isTTY }))),
)('$kind forges no line of its own (terminal: $isTTY)', ({ show, isTTY }) => {
  const screen = keepTerminal({ isTTY })
  show(screen)
  const text = screen.out.text() + screen.err.text()
  // Control sequences of the program's own colors and its spinner are removed; no others may remain.
  // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
  const plain = text.replace(/\u001B\[(?:1|2|22|3[1236]|39)m|\r\u001B\[K/g, '')
  expect(plain).toContain('forged')
  // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
  expect(plain).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u202E]/)
  for (const line of plain.split('\n')) expect(line).not.toMatch(/^\s*(?:✓|ok)? ?forged/)
})

test('text that is meant to have lines keeps them, and obeys nothing else', () => {
  const { terminal, out } = keepTerminal()
  terminal.printText('first\nsecond\u001B[2J')
  expect(out.text()).toBe('first\nsecond\uFFFD[2J\n')
})

test('colors of the program stay, and without colors no text looks like one', () => {
  const colored = keepTerminal({ isTTY: true })
  colored.terminal.print(createColor(true).bad('x'))
  expect(colored.out.text()).toBe('\u001B[31mx\u001B[39m\n')
  const plain = keepTerminal()
  plain.terminal.print('\u001B[31mx')
  expect(plain.out.text()).toBe('\uFFFD[31mx\n')
})
