import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { programFile } from '@flotilla/protocol/built-program'
import type { Bench } from './bench.ts'
import { rotated } from './bench.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const floor = 'node -e 0'
/** The whole list, a command with few words, one with many, and a group. */
const asked: readonly (readonly string[])[] = [[], ['init'], ['chat'], ['permissions'], ['cron']]

export const helpBench: Bench = {
  name: 'help',
  claim: 'how long a command takes over its --help, beside a Node that does nothing',
  defaultRuns: 9,
  run: async ({ runs, folder, progress, signal }) => {
    const program = programFile(fs, join(import.meta.dirname, '..'), 'cli')
    const contenders = [
      { name: floor, words: ['-e', '0'] },
      ...asked.map((words) => ({
        name: ['flotilla', ...words, '--help'].join(' '),
        words: [program, ...words, '--help'],
      })),
    ]
    // What the first start compiles, the later ones load.
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_CACHE_HOME: folder, NO_COLOR: '1' }
    const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
    progress('warming up')
    for (const { words } of contenders) timed(words, env)
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, words } of rotated(contenders, round)) times.get(name)?.push(timed(words, env))
    }
    const base = times.get(floor) ?? []
    return {
      tables: [
        {
          title: `From the start of a process to its end, ${runs} rounds, milliseconds`,
          columns: ['', 'median ms', 'to the floor'],
          rows: [...times].map(([name, ms]) => [name, figure(median(ms), 1), ratio(pairedRatio(ms, base))]),
          notes: [
            program.endsWith('.ts')
              ? 'From the sources: what is installed is one compiled file.'
              : 'As it is installed: one compiled file.',
          ],
        },
      ],
      figures: { ms: Object.fromEntries(times) },
    }
  },
}

function timed(words: readonly string[], env: NodeJS.ProcessEnv): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${String(stderr).slice(-400)}`)
  return performance.now() - start
}
