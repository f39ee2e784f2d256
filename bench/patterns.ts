import { wireLimits } from '@flotilla/protocol/limits'
import { permissionListLimits } from '@flotilla/protocol/permission-record'
import { credentialMatches, keyMatches, matchingSteps } from '../packages/identity/src/access/glob.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'

/** Matches that are timed together, and how often in a round. */
const batch = 4000
const batchesOfRound = 5
/** The longest key, whose last character is found by no pattern. */
const key = `${'a/'.repeat(wireLimits.blackboardKeyMaxChars / 2 - 1)}b`
const atBound = (piece: string): string =>
  piece
    .repeat(permissionListLimits.entryMaxChars)
    .slice(0, permissionListLimits.entryMaxChars - 1)
    .concat('c')

const cases = {
  'nested `**/` and letters': ['key', atBound('**/a')],
  'letters before one `**/`': ['key', `${'a/'.repeat(95)}**/bc`],
  'letters, and `**/` in each word of states': ['key', atBound(`${'a/'.repeat(15)}**/`)],
  'letters between stars': ['key', atBound('a*')],
  'any characters': ['key', `**${atBound('?').slice(2)}`],
  sets: ['key', `**${atBound('[!c]').slice(2)}`],
  'stars and letters of a credential': ['credential', atBound('*a')],
} as const satisfies Record<string, readonly ['key' | 'credential', string]>
type Case = keyof typeof cases

/** How often the floor is measured in the place of one match, because the clock of the processor has long ticks. */
const floorsOfMatch = 20

/** Reads each character of a text once, which any matcher costs at least. */
function floor(text: string): number {
  let sum = 0
  for (let times = 0; times < floorsOfMatch; times += 1)
    for (let at = 0; at < text.length; at += 1) sum = (sum + text.charCodeAt(at)) | 0
  return sum
}

export const patternsBench: Bench = {
  name: 'patterns',
  claim: 'how long one pattern at its bound takes on the longest key, beside one read of its characters',
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const floorName = 'one read of each character (floor)'
  const works: Readonly<Record<string, () => unknown>> = {
    [floorName]: () => floor(key),
    ...Object.fromEntries(
      Object.entries(cases).map(([name, [kind, pattern]]) => [
        name,
        () => (kind === 'key' ? keyMatches(pattern, key) : credentialMatches(pattern, key)),
      ]),
    ),
  }
  const names = Object.keys(works)
  const measured = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < runs; round++) {
    signal.throwIfAborted()
    progress(`round ${round + 1} of ${runs}`)
    for (const name of rotated(names, round)) {
      for (let count = 0; count < batchesOfRound; count++) {
        // The time of the processor, because other programs do not make a match slower.
        const begin = process.threadCpuUsage()
        for (let at = 0; at < batch; at++) works[name]?.()
        const { user, system } = process.threadCpuUsage(begin)
        // Only the sum is exact; its parts are estimated from the ticks of the system.
        const matches = name === floorName ? batch * floorsOfMatch : batch
        measured.get(name)?.push((user + system) / matches)
      }
    }
  }
  const floorUs = median(measured.get(floorName) ?? [])
  const rows = names.map((name) => {
    const all = (measured.get(name) ?? []).toSorted((a, b) => a - b)
    const [kind, pattern] = cases[name as Case] ?? [null, '']
    return [
      name,
      kind === null ? '' : String(matchingSteps(kind, pattern, key)),
      `${figure(median(all), 2)} µs`,
      `${figure(all[Math.floor(all.length * 0.95)] ?? 0, 2)} µs`,
      `${figure(median(all) / floorUs, 1)}×`,
    ]
  })
  return {
    tables: [
      {
        title: `patterns: ${permissionListLimits.entryMaxChars} characters on a key of ${key.length}`,
        columns: ['pattern', 'steps', 'median', '95 %', 'of the floor'],
        rows,
        notes: [
          `Processor time, means of ${batch} matches. The unit test bounds the steps; the requirement is 20 µs.`,
        ],
      },
    ],
    figures: { measured: Object.fromEntries(measured) },
  }
}
