import { setImmediate } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, it } from 'vitest'
import { CommandFailed } from '../command-failed.ts'
import { keepTerminal, stillClock } from '../fake-terminal.ts'
import type { Terminal } from './terminal.ts'
import { createColor, marksMax, oneLine, printable } from './color.ts'
import { columnsOf } from './columns.ts'
import { errorLines, formatError } from './format-error.ts'
import { formatBytes, formatDuration, formatUsd } from './format.ts'
import { renderTable } from './table.ts'

const escape = '\u001B'

const colored = (options: Parameters<typeof keepTerminal>[0]) =>
  keepTerminal(options).terminal.color.bad('x').includes(escape)

describe('terminal', () => {
  it('the terminal in JSON mode holds one value on standard output and nothing else', () => {
    const { terminal, out, err } = keepTerminal({ json: true, isTTY: true })
    terminal.print('for people')
    terminal.stream('more')
    terminal.printJson({ a: 1 })
    terminal.note('beside')
    expect(out.text()).toBe('{"a":1}\n')
    expect(err.text()).toBe('beside\n')
  })

  it('JSON output contains no control sequences, and every parser reads the same value', () => {
    const { terminal, out } = keepTerminal({ json: true })
    const value = { name: 'a\u001B[2J\u009B31m\u007F\u009D0;title\u009C' }
    terminal.printJson(value)
    // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
    expect(out.text().trimEnd()).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/)
    expect(JSON.parse(out.text())).toEqual(value)
  })

  it('colors only where a person looks and has not forbidden it', () => {
    expect(colored({ isTTY: true })).toBe(true)
    expect(colored({ isTTY: true, colors: 'off' })).toBe(false)
    expect(colored({ isTTY: true, json: true })).toBe(false)
    expect(colored({ isTTY: false })).toBe(false)
    expect(colored({ isTTY: false, colors: 'on' })).toBe(true)
    expect(colored({ isTTY: true, colors: 'on', json: true })).toBe(false)
  })

  it('progress is printed as plain lines on standard error without a terminal', () => {
    const { terminal, out, err } = keepTerminal()
    terminal.progress.step('Building the image')
    terminal.progress.done()
    expect(err.text()).toBe('… Building the image\n')
    expect(out.text()).toBe('')
  })

  it('a failed step of continuing work is marked with its reason, with and without a terminal', () => {
    for (const isTTY of [true, false]) {
      const { terminal, err } = keepTerminal({ isTTY, colors: 'auto' })
      terminal.progress.step('Fetching it')
      terminal.progress.failed('Fetching it', 'Nobody gave it. Name another.')
      terminal.progress.step('Making it')
      terminal.progress.done()
      const said = stripVTControlCharacters(err.text())
      expect(said).toMatch(/✗ Fetching it( [^\n]*)?\n  Nobody gave it\. Name another\.\n/)
      expect(said).not.toContain('✓ Fetching it')
      if (isTTY) expect(said).toContain('✓ Making it')
    }
  })

  it('the terminal ends a watched step with a mark and its time', () => {
    const { terminal, err } = keepTerminal({ isTTY: true, colors: 'auto' })
    terminal.progress.step('Building')
    terminal.progress.step('Starting')
    terminal.progress.fail()
    expect(err.text()).toMatch(/✓.* Building .*0 ms/)
    expect(err.text()).toMatch(/✗.* Starting .*0 ms/)
  })
})

describe('work of which nothing else is told', () => {
  /** A clock whose sleeps pass at once for this many seconds, and then never. */
  const secondsOf = (count: number): Clock => {
    let now = 0
    return {
      now: () => now,
      sleep: async (ms, signal) => {
        if (now >= count * 1000) await stillClock.sleep(ms, signal)
        now += ms
      },
    }
  }

  it('work without progress of its own shows a note from its first second, which is removed at the end', async () => {
    const { terminal, err } = keepTerminal({ isTTY: true, colors: 'off', clock: secondsOf(2) })
    const ended = terminal.working(() => 'Waiting for the mesh')
    expect(err.text()).toBe('')
    await expect.poll(() => err.text()).toContain('Waiting for the mesh (2 s)')
    expect(err.text()).toContain('Waiting for the mesh (1 s)')
    ended()
    expect(err.text().endsWith('\r\u001B[K')).toBe(true)
  })

  it('the note is not shown without a terminal, for a program, during a step or at a prompt', async () => {
    const outputOf = async (
      options: Parameters<typeof keepTerminal>[0],
      first: (terminal: Terminal) => void = () => undefined,
    ) => {
      const { terminal, out, err } = keepTerminal({ colors: 'off', clock: secondsOf(5), ...options })
      first(terminal)
      const ended = terminal.working(() => 'Waiting for the mesh')
      for (let turn = 0; turn < 50; turn++) await setImmediate()
      ended()
      return out.text() + err.text()
    }
    expect(await outputOf({ isTTY: true })).toContain('Waiting')
    expect(await outputOf({ isTTY: false })).toBe('')
    expect(await outputOf({ isTTY: true, json: true })).toBe('')
    const step = (terminal: Terminal) => terminal.progress.step('Building')
    expect(await outputOf({ isTTY: true }, step)).not.toContain('Waiting')
    const prompt = (terminal: Terminal) => terminal.openPrompt(() => ({ prompt: '> ', text: '', cursor: 0 }))
    expect(await outputOf({ isTTY: true }, prompt)).not.toContain('Waiting')
  })

  it('the note is hidden while the command prints its own progress', () => {
    const { terminal, err } = keepTerminal({ isTTY: true, colors: 'off', clock: secondsOf(0) })
    const ended = terminal.working(() => 'Waiting for the mesh')
    terminal.status(() => 'Copying')
    ended()
    expect(err.text()).toBe('\r\u001B[KCopying')
  })
})

describe('text of unknown origin', () => {
  it('text of unknown origin cannot move the cursor or set a title', () => {
    expect(printable(`a${escape}[2Jb\u0007c\r\nd\te\u009B`)).toBe('a\uFFFD[2Jb\uFFFDc\nd\te\uFFFD')
    // The file name ends in `.exe`, and the name is not `admin`, although they look otherwise.
    expect(printable('red\u202Egnp.exe ad\u200Bmin \u2066x\uFEFF')).toBe(
      'red\uFFFDgnp.exe ad\uFFFDmin \uFFFDx\uFFFD',
    )
    expect(printable('\u{1F469}\u200D\u{1F680}')).toBe('\u{1F469}\u200D\u{1F680}')
  })

  it('text of unknown origin is cut between whole characters', () => {
    expect(oneLine('a\n  b', 10)).toBe('a b')
    expect(oneLine('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 4)).toBe('👩‍👩‍👧…')
    expect(oneLine('漢字です', 7)).toBe('漢字で…')
    expect(oneLine('漢字です', 8)).toBe('漢字です')
  })

  it('text of unknown origin has no more marks on a character than writing needs', () => {
    const most = `a${'\u0301'.repeat(marksMax)}`
    expect(printable(most)).toBe(most)
    expect(printable(`a${'\u0301\u200D\uFE0F'.repeat(10_000)}b`)).toHaveLength(marksMax + 2)
  })
})

describe('table', () => {
  it('a table aligns cells by what they show, not by their color codes', () => {
    const color = createColor(true)
    const lines = renderTable(
      [{ title: 'A' }, { title: 'N', align: 'right' }],
      [
        [color.bad('xx'), '1'],
        ['y', '22'],
      ],
    )
    expect(lines.map(columnsOf)).toEqual([5, 6, 6, 6].map((width, index) => (index === 0 ? 6 : width)))
    expect(lines[3]).toBe('y   22')
  })

  it('a table wraps long cells at words', () => {
    expect(renderTable([{ title: 'T', columnsMax: 9 }, { title: 'U' }], [['one two three', 'x']])).toEqual([
      'T        U',
      '───────  ─',
      'one two  x',
      'three',
    ])
  })

  it('a table counts wide characters as two columns', () => {
    expect(columnsOf('漢字')).toBe(4)
    expect(columnsOf('é')).toBe(1)
  })

  it.each([
    ['，。「」Ｆ', 10],
    ['ﾊﾟ', 2],
    ['❤️', 2],
    ['✔️', 2],
    ['1️⃣', 2],
    ['✔', 1],
    ['👩‍👩‍👧', 2],
    ['🇨🇭', 2],
    ['각', 2],
    ['ᄀᄀᄀ', 6],
    ['e\u0301\u0323', 1],
    ['\u0301', 0],
    ['“…” → ±', 7],
    ['\u001B[31m，\u001B[39m', 2],
  ])('a table counts the columns that terminals take for %j', (text, columns) => {
    expect(columnsOf(text)).toBe(columns)
  })
})

describe('an error', () => {
  it('an error says what happened, under which code, and what to do next', () => {
    const problem = new Problem('lane-full', {
      detail: '100 runs are queued',
      repair: 'Cancel some.',
    })
    expect(errorLines(formatError(problem), createColor(false), String)).toEqual([
      '✗ 100 runs are queued',
      '  code lane-full',
      '  next Cancel some.',
    ])
  })

  it('an error brings the catalogue’s repair where the mesh sent none', () => {
    expect(formatError(new Problem('unknown-agent')).repair).toBe('List the agents with flotilla status.')
  })

  it('an error keeps several commands of a repair on lines of their own', () => {
    const failed = new CommandFailed('engine-absent', { detail: 'none', repair: 'run\n  apt-get install x' })
    expect(errorLines(formatError(failed), createColor(false), String).slice(2)).toEqual([
      '  next run',
      '         apt-get install x',
    ])
  })

  it('an error of an unknown kind still names a next step', () => {
    expect(formatError('odd')).toMatchObject({
      code: 'internal-error',
      repair: expect.stringContaining('doctor') as string,
    })
  })
})

describe('figures', () => {
  it('figures do not hide small amounts of money', () => {
    expect([0, 0.000012, 0.5, 12].map(formatUsd)).toEqual(['$0.00', '$0.000012', '$0.50', '$12.00'])
  })

  it('figures are short', () => {
    expect([12, 1500, 61_000, 3_660_000].map(formatDuration)).toEqual([
      '12 ms',
      '1.5 s',
      '1 min 1 s',
      '1 h 1 min',
    ])
    expect([5, 2048, 3 * 1024 * 1024].map(formatBytes)).toEqual(['5 B', '2.0 KB', '3.0 MB'])
  })
})
