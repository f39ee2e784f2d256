import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CliDeps } from './context.ts'
import { readEnvironment } from './environment.ts'
import { stillClock } from './fake-terminal.ts'
import { helpWidths } from './help-width.ts'
import { createInterrupts } from './interrupts.ts'
import { createProgram, createWholeProgram } from './program.ts'
import { helpFiles } from './reference/help-files.ts'
import type { ProgramFor } from './reference/help-files.ts'
import { readCommands } from './reference/read-commands.ts'
import type { TextSink } from './terminal/text-sink.ts'
import { askedPath, writtenHelp } from './written-help.ts'

const folder = mkdtempSync(join(tmpdir(), 'written-help-'))
let paths: readonly string[] = []

function depsWith(out: TextSink): CliDeps {
  const interrupts = createInterrupts(() => 0)
  return {
    environment: readEnvironment({ HOME: '/home/nobody' }),
    clock: stillClock,
    out,
    err: out,
    input: Readable.from([]),
    newKey: () => 'key',
    signal: interrupts.signal,
    onInterrupt: interrupts.onInterrupt,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => Promise.reject(new Error('nobody asks')),
  }
}

const programFor: ProgramFor = (meant, out) =>
  meant === 'all' ? createWholeProgram(depsWith(out)) : createProgram(depsWith(out), [])

beforeAll(async () => {
  for (const { name, contents } of await helpFiles(programFor)) writeFileSync(join(folder, name), contents)
  paths = readCommands(await programFor('all', { write: () => true })).map(({ path }) => path)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The help as the program prints it without generated files, in a terminal of this width. */
async function spokenHelp(words: readonly string[], columns: number): Promise<string> {
  let text = ''
  const program = await createProgram(depsWith({ columns, write: (piece) => (text += piece) }), words)
  await program.parseAsync([...words], { from: 'user' }).catch(() => undefined)
  return text
}

describe('help that was written beforehand', () => {
  it('help that was written beforehand is for every command and width just what the program says', async () => {
    expect(paths.length).toBeGreaterThan(80)
    for (const path of paths) {
      const words = [...path.split(' ').filter(Boolean), '--help']
      // One width for each help suffices; the widths alternate.
      const columns = helpWidths[path.length % helpWidths.length] ?? 0
      expect(writtenHelp(words, { folder, columns }), path).toBe(await spokenHelp(words, columns))
    }
  })

  it('help that was written beforehand is the same for every way to ask', async () => {
    const told = writtenHelp(['cron', 'add', '--help'], { folder, columns: 100 })
    expect(told).toContain('Usage: flotilla cron add')
    expect(writtenHelp(['help', 'cron', 'add'], { folder, columns: undefined })).toBe(told)
    expect(writtenHelp(['cron', 'add', '-h'], { folder, columns: 119 })).toBe(told)
    expect(await spokenHelp(['cron', 'add', '-h'], 119)).toBe(told)
    expect(writtenHelp([], { folder, columns: 200 })).toContain('First steps')
  })

  it.each([
    [['fly', '--help'], 100],
    [['cron', 'fly', '--help'], 100],
    [['cron', '--json', '--help'], 100],
    [['chat', '--help'], 60],
    [['../flotilla', '--help'], 100],
    [['constructor', '--help'], 100],
    [['chat', 'help'], 100],
    [['status'], 100],
  ])(
    'help that was written beforehand is not for %j in %i columns: the program itself answers',
    (words, columns) => {
      expect(writtenHelp(words, { folder, columns })).toBeNull()
    },
  )

  it('help that was written beforehand is not where nothing was written', () => {
    expect(writtenHelp(['--help'], { folder: join(folder, 'none'), columns: 100 })).toBeNull()
  })

  it.each([
    [[], ''],
    [['--help'], ''],
    [['help'], ''],
    [['help', 'cron'], 'cron'],
    [['chat', 'operator', 'what does --help do'], null],
    [['chat', '--', '--help'], null],
  ])('help that was written beforehand takes of %j the path %s', (words, path) => {
    expect(askedPath(words)).toBe(path)
  })
})
