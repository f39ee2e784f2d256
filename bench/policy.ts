import { snapshotOf } from '../packages/identity/src/policy/index.ts'
import type { Effect } from '../packages/identity/src/policy/index.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'

const rulesCount = 500
/** Decisions that are timed together, and how often in a round. */
const batch = 200
const batchesOfRound = 25

const verdicts = ['deny', 'ask', 'allow'] as const
/** One rule of each kind of policy; none of them matches the effect, so that every candidate is tested. */
const kinds = {
  'by host': (at: number) => `{ host: 'h${at}.example.org', method: POST }`,
  'by path, without a host': (at: number) => `{ method: POST, path: '/area-${at}/**' }`,
  'by end of a path, without a host': (at: number) => `{ agent: '*', path: '**/name-${at}' }`,
  'by pattern of names, without a host': (at: number) => `{ mcp_tool: 'a*', agent: 'team-${at}-*' }`,
  'by pattern of credentials, without a host': (at: number) => `{ credential: 'key_${at}_*', tool: '*' }`,
  'by condition alone': (at: number) =>
    `{ agent: '*' }, when: 'path.startsWith("/x${at}/") && method == "PUT"'`,
  'by condition alone, within a path': (at: number) =>
    `{ agent: '*' }, when: 'path.contains("/x${at}/") && method == "POST"'`,
  'by condition alone, with contains alone': (at: number) =>
    `{ agent: '*' }, when: 'path.contains("/x${at}/")'`,
  'by condition alone, without case': (at: number) =>
    `{ agent: '*' }, when: 'path.lowerAscii().contains("x${at}") || host.endsWith(".h${at}.test")'`,
  'by condition alone, of negations': (at: number) =>
    `{ agent: '*' }, when: '!(path.contains("item") || path.contains("x${at}"))'`,
} as const satisfies Record<string, (at: number) => string>
type Kind = keyof typeof kinds

const effect: Effect = {
  agent: 'scout',
  tool: 'http_request',
  method: 'POST',
  host: 'api.example.org',
  path: '/v1/projects/7/items/list',
  credentials: ['github'],
  origins: ['human', 'agent'],
}

export const policyBench: Bench = {
  name: 'policy',
  claim: `how long one decision takes at ${rulesCount} rules of one kind`,
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const names = Object.keys(kinds) as Kind[]
  const decides = new Map(names.map((name) => [name, policyOf(name)]))
  const measured = new Map<Kind, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < runs; round++) {
    signal.throwIfAborted()
    progress(`round ${round + 1} of ${runs}`)
    for (const name of rotated(names, round)) {
      const decide = decides.get(name)
      for (let count = 0; count < batchesOfRound; count++) {
        // The time of the processor, because other programs do not make a decision slower.
        const begin = process.threadCpuUsage()
        for (let at = 0; at < batch; at++) decide?.(effect)
        measured.get(name)?.push(process.threadCpuUsage(begin).user / batch)
      }
    }
  }
  const rows = names.map((name) => {
    const all = (measured.get(name) ?? []).toSorted((a, b) => a - b)
    return [name, `${figure(median(all), 1)} µs`, `${figure(all[Math.floor(all.length * 0.95)] ?? 0, 1)} µs`]
  })
  return {
    tables: [
      {
        title: `policy: one decision at ${rulesCount} rules`,
        columns: ['rules', 'median', '95 %'],
        rows,
        notes: [
          `Processor time, means of ${batch} decisions. A third of the rules each deny, ask and allow, and none matches.`,
        ],
      },
    ],
    figures: { measured: Object.fromEntries(measured) },
  }
}

function policyOf(name: Kind) {
  const rules = Array.from(
    { length: rulesCount },
    (_none, at) => `  - { name: r${at}, match: ${kinds[name](at)}, verdict: ${verdicts[at % 3]} }`,
  )
  const { decide, broken } = snapshotOf(`rules:\n${rules.join('\n')}\n`)
  if (broken !== null) throw new Error(broken)
  return decide
}
