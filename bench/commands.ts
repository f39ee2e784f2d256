import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { programFile, programNodeFlags } from '@flotilla/protocol/built-program'
import type { Bench } from './bench.ts'
import { rotated } from './bench.ts'
import { startSeededMesh } from './dashboard-ground.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'
import type { Table } from './table.ts'

const floor = 'node -e 0'

/** Documented commands that read: the help of four, and one for each kind of page of a fleet. */
const asked: readonly (readonly string[])[] = [
  ...[[], ['init'], ['chat'], ['permissions']].map((words) => [...words, '--help']),
  ['version'],
  ['completion', 'bash'],
  ['status'],
  ['agents'],
  ['runs'],
  ['tasks'],
  ['costs'],
  ['budget'],
  ['models'],
  ['cron'],
  ['pending'],
  ['policy'],
  ['permissions', 'show', 'agent-000'],
  ['history', 'agent-000'],
  ['sessions', 'agent-000'],
  ['people'],
  ['channels'],
  ['journal', 'verify'],
]
const fleet = { agents: 20, runs: 1000 }

export const commandsBench: Bench = {
  name: 'commands',
  claim: 'how long commands of the terminal take, beside a Node that does nothing',
  defaultRuns: 9,
  run: async ({ runs, folder, progress, signal }) => {
    const program = programFile(fs, join(import.meta.dirname, '..'), 'cli')
    const mesh = await startSeededMesh({ ...fleet, progress })
    try {
      const contenders = [
        { name: floor, words: ['-e', '0'] },
        ...asked.map((words) => ({
          name: ['flotilla', ...words].join(' '),
          words: [...programNodeFlags, program, ...words],
        })),
      ]
      // The first start fills the compile cache from which the later ones load.
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        XDG_CACHE_HOME: folder,
        NO_COLOR: '1',
        FLOTILLA_HOME: mesh.home,
      }
      const times = new Map<string, Taken[]>(contenders.map(({ name }) => [name, []]))
      progress('warming up')
      for (const { words } of contenders) timed(words, env)
      for (let round = 0; round < runs && !signal.aborted; round += 1) {
        progress(`round ${round + 1} of ${runs}`)
        for (const { name, words } of rotated(contenders, round)) times.get(name)?.push(timed(words, env))
      }
      return { tables: [tableOf(times, { runs, program })], figures: { taken: Object.fromEntries(times) } }
    } finally {
      await mesh.stop()
    }
  },
}

function tableOf(
  times: ReadonlyMap<string, readonly Taken[]>,
  { runs, program }: { readonly runs: number; readonly program: string },
): Table {
  const base = times.get(floor) ?? []
  const cpu = (taken: readonly Taken[]) => taken.map(({ cpuMs }) => cpuMs)
  const wall = (taken: readonly Taken[]) => taken.map(({ wallMs }) => wallMs)
  return {
    title: `From the start of a process to its end, ${fleet.agents} agents and ${fleet.runs} runs, ${runs} rounds, median milliseconds`,
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
        ? 'From the sources, with no build of them: an installed package is compiled and has its help written.'
        : 'As in an installed package: compiled, with its help written.',
    ],
  }
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
