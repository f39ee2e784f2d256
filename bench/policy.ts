import { snapshotOf } from '../packages/identity/src/policy/index.ts'
import type { Effect } from '../packages/identity/src/policy/index.ts'
import { rotated } from './bench.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'

const rulesCount = 500
/** Decisions that are timed together, and how often in a round. The kernel counts processor time in milliseconds. */
const batch = 2000
const batchesOfRound = 2

const verdicts = ['deny', 'ask', 'allow'] as const
const when = (condition: string) => `{ agent: '*' }, when: '${condition}'`
/** One rule of each kind of policy; none of them matches the effect, so that every candidate is tested. */
const kinds = {
  'by host': (at: number) => `{ host: 'h${at}.example.org', method: POST }`,
  'by path, without a host': (at: number) => `{ method: POST, path: '/area-${at}/**' }`,
  'by end of a path, without a host': (at: number) => `{ agent: '*', path: '**/name-${at}' }`,
  'by part of a path, without a host': (at: number) => `{ path: '/v*/x${at}*' }`,
  'by pattern of names, without a host': (at: number) => `{ mcp_tool: 'a*', agent: 'team-${at}-*' }`,
  'by set of characters in a name': (at: number) => `{ agent: '[st]*-${at}' }`,
  'by credential': (at: number) => `{ credential: 'key_${at}' }`,
  'by pattern of credentials, without a host': (at: number) => `{ credential: 'key_${at}_*', tool: '*' }`,
  'by tool of a server': (at: number) => `{ mcp_tool: 'tool_${at}' }`,
  'by pattern of tools of a server': (at: number) => `{ mcp_tool: 'tool_${at}_*' }`,
  'by amount': (at: number) => `{ usd_above: ${1000 + at} }`,
  'by origin, at one host': (at: number) =>
    `{ origin: webhook, host: '*.example.org', agent: 'sc*', usd_above: ${at} }`,
  'by condition alone': (at: number) => when(`path.startsWith("/x${at}/") && method == "PUT"`),
  'by condition alone, within a path': (at: number) => when(`path.contains("/x${at}/") && method == "POST"`),
  'by condition alone, with contains alone': (at: number) => when(`path.contains("/x${at}/")`),
  'by condition alone, without case': (at: number) =>
    when(`path.lowerAscii().contains("x${at}") || host.endsWith(".h${at}.test")`),
  'by condition alone, of negations': (at: number) =>
    when(`!(path.contains("item") || path.contains("x${at}"))`),
  'by condition alone, of negations that hold': (at: number) =>
    when(`!path.contains("x${at}") && host != "h${at}" && method != "POST"`),
  'by both ends of a host': (at: number) =>
    when(`host.startsWith("api.") && host.endsWith(".org") && host.contains(".h${at}.")`),
  'by condition on the origin': (at: number) => when(`"webhook" in origins && !("peer${at}" in origins)`),
  'by condition on an amount': (at: number) => when(`usd > ${1000 + at}.0 && host.endsWith(".org")`),
  'by condition on amounts that all hold': (at: number) =>
    when(`usd > ${at / 1000} && host.size() > ${1000 + at}`),
  'by a range of amounts': (at: number) =>
    when(`usd >= ${at / 20} && usd < ${at / 20 + 0.01} && method != "POST"`),
  'by condition on amounts and hosts': (at: number) => when(`usd > 5.0 && host == "h${at}.example.org"`),
  'by an amount or a path': (at: number) => when(`usd > ${1000 + at}.0 || path == "/x${at}"`),
  'by length of a path': (at: number) => when(`path.size() > ${1000 + at}`),
  'by a choice': (at: number) => when(`method == "POST" ? path.contains("y${at}") : host == "x${at}"`),
  'by an amount or a host, each another': (at: number) =>
    when(`(usd > ${1000 + at}.0 && method == "POST") || host == "h${at}"`),
  'by two values of the request, each another': (at: number) =>
    when(`path.contains(tool) && host.size() > ${at}`),
  'by two values of the request': (at: number) => when(`path.contains(tool) || path == "/x${at}"`),
} as const satisfies Record<string, (at: number) => string>
type Kind = keyof typeof kinds

const effect: Effect = {
  agent: 'scout',
  tool: 'http_request',
  method: 'POST',
  host: 'api.example.org',
  path: '/v1/projects/7/items/list',
  mcpServer: 'crm',
  mcpTool: 'list_contacts',
  credentials: ['github'],
  usd: 7,
  origins: ['human', 'agent'],
}
/** The same effect with a path that a server can read in many ways. */
const spelledEffect: Effect = { ...effect, path: '/V1//projects/%37;v=1/x/../items/list/' }

/** What 500 comparisons of texts cost at least, without any rule. */
const floor = 'no rules: 500 searches of a text in the path'
/** The least decision: nothing to compare. */
const noRules = 'no rules: the decision alone'

export const policyBench: Bench = {
  name: 'policy',
  claim: `how long one decision takes at ${rulesCount} rules of one kind`,
  defaultRuns: 7,
  run: measure,
}

async function measure({ runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const decided = Object.keys(kinds).flatMap((name) => {
    const decide = policyOf(name as Kind)
    return [
      { name, run: () => decide(effect) },
      { name: `${name}; a spelled path`, run: () => decide(spelledEffect) },
    ]
  })
  const { decide: decideNothing } = snapshotOf('')
  const contenders: readonly Contender[] = [
    { name: floor, run: searchTexts() },
    { name: noRules, run: () => decideNothing(effect) },
    ...decided,
  ]
  const measured = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < runs; round++) {
    signal.throwIfAborted()
    progress(`round ${round + 1} of ${runs}`)
    for (const { name, run } of rotated(contenders, round)) {
      for (let count = 0; count < batchesOfRound; count++) {
        // The time of the processor, because other programs do not make a decision slower.
        const begin = process.threadCpuUsage()
        for (let at = 0; at < batch; at++) run()
        const { user, system } = process.threadCpuUsage(begin)
        // Only the sum is exact; its parts are estimated from the ticks of the system.
        measured.get(name)?.push((user + system) / batch)
      }
    }
  }
  const rows = contenders.map(({ name }) => {
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
          'A spelled path has parameters, dots, encoded characters and double slashes, so that it is read in many ways.',
        ],
      },
    ],
    figures: { measured: Object.fromEntries(measured) },
  }
}

interface Contender {
  readonly name: string
  readonly run: () => unknown
}

function searchTexts(): () => number {
  const texts = Array.from({ length: rulesCount }, (_none, at) => `x${at}`)
  return () => texts.filter((text) => effect.path?.includes(text) === true).length
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
