import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { agentLinkBench } from './agent-link.ts'
import { agentMemoryBench } from './agent-memory.ts'
import { agentStartBench } from './agent-start.ts'
import { reasonOf } from './bench.ts'
import type { Bench, BenchReport } from './bench.ts'
import { blackboardBench } from './blackboard.ts'
import { browserBench } from './browser.ts'
import { channelsBench } from './channels.ts'
import { commandsBench } from './commands.ts'
import { cronBench } from './cron.ts'
import { dashboardBench, dashboardHourBench } from './dashboard.ts'
import { egressBench } from './egress.ts'
import { eventsBench } from './events.ts'
import { inspectionBench } from './inspection.ts'
import { isolationBench } from './isolation.ts'
import { idleFleetBench } from './idle-fleet.ts'
import { harnessBench } from './harness.ts'
import { machineLine, readMachineFacts } from './machine-facts.ts'
import { modelGatewayBench } from './model-gateway.ts'
import { memoryBench } from './memory.ts'
import { mindFootprintBench } from './mind-footprint.ts'
import { moneyBench } from './money.ts'
import { patternsBench } from './patterns.ts'
import { policyBench } from './policy.ts'
import { runsBench } from './runs.ts'
import { promptCacheBench } from './prompt-cache.ts'
import { promptCacheRivalsBench } from './prompt-cache-rivals.ts'
import { renderTable } from './table.ts'
import { wakeBench } from './wake.ts'
import { walletBench } from './wallet.ts'
import { watchersBench } from './watchers.ts'
import { webhooksBench } from './webhooks.ts'

const benches: readonly Bench[] = [
  agentStartBench,
  agentMemoryBench,
  agentLinkBench,
  modelGatewayBench,
  promptCacheBench,
  promptCacheRivalsBench,
  egressBench,
  inspectionBench,
  policyBench,
  patternsBench,
  memoryBench,
  mindFootprintBench,
  moneyBench,
  walletBench,
  webhooksBench,
  channelsBench,
  cronBench,
  watchersBench,
  blackboardBench,
  eventsBench,
  runsBench,
  wakeBench,
  idleFleetBench(100, 3),
  idleFleetBench(500, 1),
  isolationBench,
  commandsBench,
  harnessBench,
  browserBench,
  dashboardBench,
  dashboardHourBench,
]
const runsMax = 200

const usage = [
  'npm run bench -- [name ...] [--runs N] [--json]',
  '',
  ...benches.map((bench) => `  ${bench.name.padEnd(14)} ${bench.claim} (${bench.defaultRuns} runs)`),
  '',
  '  --runs N   interleaved rounds of each bench',
  '  --json     every figure as one JSON document on standard output, instead of tables',
].join('\n')

interface Asked {
  readonly chosen: readonly Bench[]
  readonly runs: number | null
  readonly json: boolean
}

/** Parses the arguments; returns a text to print if they are not valid. */
function readArguments(args: readonly string[]): Asked | string {
  try {
    return parseAsked(args)
  } catch (error) {
    // Only an option that does not exist, or one without its value, throws here.
    return `${reasonOf(error)}\n\n${usage}`
  }
}

function parseAsked(args: readonly string[]): Asked | string {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { runs: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) return usage
  const unknown = positionals.find((name) => !benches.some((bench) => bench.name === name))
  if (unknown !== undefined) return `There is no bench named ${unknown}.\n\n${usage}`
  const runs = values.runs === undefined ? null : Number(values.runs)
  if (runs !== null && !(Number.isInteger(runs) && runs >= 1 && runs <= runsMax)) {
    return `--runs takes a whole number from 1 to ${runsMax}.\n\n${usage}`
  }
  const chosen =
    positionals.length === 0
      ? benches.filter(({ long }) => !long)
      : benches.filter((bench) => positionals.includes(bench.name))
  return { chosen, runs, json: values.json ?? false }
}

async function main(): Promise<number> {
  const asked = readArguments(process.argv.slice(2))
  if (typeof asked === 'string') {
    console.log(asked)
    return asked === usage ? 0 : 2
  }
  const facts = readMachineFacts()
  if (!asked.json) console.log(machineLine(facts))
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
  }
  const reports: Record<string, unknown> = {}
  let failed = false
  for (const bench of asked.chosen) {
    if (stopping.signal.aborted) break
    const outcome = await runOne(bench, asked.runs ?? bench.defaultRuns, stopping.signal)
    reports[bench.name] = outcome
    failed ||= 'error' in outcome
    if (asked.json) continue
    if ('error' in outcome) console.log(`\n## ${bench.name}\n\nNot measured: ${outcome.error}`)
    else for (const table of outcome.tables) console.log(`\n${renderTable(table)}`)
  }
  if (asked.json) console.log(JSON.stringify({ machine: facts, benches: reports }))
  return failed || stopping.signal.aborted ? 1 : 0
}

async function runOne(
  bench: Bench,
  runs: number,
  signal: AbortSignal,
): Promise<BenchReport | { error: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-bench-'))
  const startedAt = performance.now()
  const progress = (step: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)
    process.stderr.write(`${seconds} s  ${bench.name}: ${step}\n`)
  }
  try {
    return await bench.run({ runs, folder, progress, signal })
  } catch (error) {
    return { error: signal.aborted ? reasonOf(signal.reason) : reasonOf(error) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

process.exitCode = await main()
