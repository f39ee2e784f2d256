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
/** Command lines: the whole list, a command with a short help, one with a long help, and a group. */
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
    // The first start fills the compile cache from which the later ones load.
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_CACHE_HOME: folder, NO_COLOR: '1' }
    const times = new Map<string, Taken[]>(contenders.map(({ name }) => [name, []]))
    progress('warming up')
    for (const { words } of contenders) timed(words, env)
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, words } of rotated(contenders, round)) times.get(name)?.push(timed(words, env))
    }
    const base = times.get(floor) ?? []
    const cpu = (taken: readonly Taken[]) => taken.map(({ cpuMs }) => cpuMs)
    const wall = (taken: readonly Taken[]) => taken.map(({ wallMs }) => wallMs)
    return {
      tables: [
        {
          title: `From the start of a process to its end, ${runs} rounds, median milliseconds`,
          columns: ['', 'processor', 'to the floor', 'by the clock', 'to the floor'],
          rows: [...times].map(([name, taken]) => [
            name,
            figure(median(cpu(taken)), 1),
            ratio(pairedRatio(cpu(taken), cpu(base))),
            figure(median(wall(taken)), 1),
            ratio(pairedRatio(wall(taken), wall(base))),
          ]),
          notes: [
            program.endsWith('.ts')
              ? 'From the sources, with no build of them: what is installed is compiled, and brings its help written.'
              : 'As it is installed: compiled, with its help written.',
          ],
        },
      ],
      figures: { taken: Object.fromEntries(times) },
    }
  },
}

interface Taken {
  readonly wallMs: number
  /** CPU time in user and kernel mode, which the load of the machine changes little. */
  readonly cpuMs: number
}

function timed(words: readonly string[], env: NodeJS.ProcessEnv): Taken {
  const start = performance.now()
  // Only a shell reports the processor time of one child with this resolution.
  const timing = ['-c', `TIMEFORMAT='%3U %3S'; time "$@" >/dev/null`, 'bash', process.execPath, ...words]
  const { status, stderr } = spawnSync('bash', timing, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const wallMs = performance.now() - start
  const said = String(stderr).trim()
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${said.slice(-400)}`)
  const [user, system] = said.split(/\s+/).slice(-2).map(Number)
  return { wallMs, cpuMs: ((user ?? 0) + (system ?? 0)) * 1000 }
}
