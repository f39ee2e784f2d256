import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { DatabaseSync } from 'node:sqlite'
import { startMesh } from '../tests/support/mesh-process.ts'
import type { MeshProcess } from '../tests/support/mesh-process.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { inParallel } from './fleet-mesh.ts'
import { modelName } from './model-call.ts'
import { listeningPort, startContender } from './processes.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

/** Number of agents, each of which executes one run at a time. */
const agents = 4
const runsEach = 25
const runsCount = agents * runsEach
const names = { bare: 'a row, the model, a row', ours: 'runs of agents' } as const
type Name = (typeof names)[keyof typeof names]

interface Measured {
  readonly perSecond: number
  /** Growth of the database for each run. */
  readonly bytes: number
}

/** Sends one chat message and resolves to its answer. */
type Ask = (agent: number, number: number) => Promise<string>

export const runsBench: Bench = {
  name: 'runs',
  claim: `${runsCount} chats over ${agents} agents with a model that answers at once: runs a second, ledger bytes a run`,
  defaultRuns: 7,
  run: async (options) => {
    const { folder, runs, progress, signal } = options
    const upstream = startContender({ script: join(import.meta.dirname, 'fake-upstream.ts'), core: null })
    try {
      const upstreamPort = await listeningPort(upstream, signal)
      const mesh = await startWorkingMesh(upstreamPort)
      try {
        const path = join(folder, 'bare-runs.db')
        const script = join(import.meta.dirname, 'bare-runner.ts')
        const bare = startContender({ script, args: [path, String(upstreamPort)], core: null })
        try {
          const askBare = bareAsk(await listeningPort(bare, signal))
          const asks: Record<Name, { readonly ask: Ask; readonly database: string }> = {
            [names.bare]: { ask: askBare, database: path },
            [names.ours]: {
              ask: (...which) => askMesh(mesh, ...which),
              database: join(mesh.home, 'data', 'mesh.db'),
            },
          }
          progress('each agent once, so that all of them run')
          for (const { ask } of Object.values(asks)) await round(ask, 1, -1)
          const all = new Map<Name, Measured[]>(Object.values(names).map((name) => [name, []]))
          for (let number = 0; number < runs && !signal.aborted; number += 1) {
            progress(`round ${number + 1} of ${runs}`)
            for (const name of rotated(Object.values(names), number)) {
              all.get(name)?.push(await measure(asks[name], number, { signal }))
            }
          }
          return reportOf(all)
        } finally {
          await bare.stop()
        }
      } finally {
        await mesh.stop()
      }
    } finally {
      await upstream.stop()
    }
  },
}

async function startWorkingMesh(upstreamPort: number): Promise<MeshProcess> {
  const price = { input_per_mtok: 0.15, output_per_mtok: 0.6 }
  const mesh = await startMesh({
    environment: { FLOTILLA_LOG_LEVEL: 'warn' },
    settings: {
      default_model: `bench/${modelName}`,
      providers: { bench: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${upstreamPort}/v1` } },
      models: { [`bench/${modelName}`]: { price } },
      rate_limits: { llm: 1_000_000 },
    },
  })
  const budget = { daily_usd: 1000, monthly_usd: 30_000 }
  for (let agent = 0; agent < agents; agent += 1) await mesh.createWorker(`bench-${agent}`, { budget })
  return mesh
}

/** Uses a new conversation each time, so that only the ledger grows, and not the agent's prompt. */
async function askMesh(mesh: MeshProcess, agent: number, number: number): Promise<string> {
  const run = await mesh.ask(questionOf(number), { agent: `bench-${agent}`, session: `talk-${number}` })
  if (run.outcome?.status !== 'done') throw new Error(`a run ended as ${JSON.stringify(run.outcome)}`)
  return run.outcome.text
}

function bareAsk(port: number): Ask {
  const http = new Agent({ keepAlive: true })
  return (_agent, number) =>
    new Promise((resolve, reject) => {
      const asked = request({ agent: http, host: '127.0.0.1', port, method: 'POST' }, (reply) => {
        if (reply.statusCode !== 200) reject(new Error(`HTTP ${reply.statusCode}`))
        void text(reply).then(resolve, reject)
      })
      asked.once('error', reject)
      asked.end(JSON.stringify({ message: questionOf(number) }))
    })
}

function questionOf(number: number): string {
  return `Question ${number}: which of the licences are permissive, and which file says so?`
}

async function measure(
  { ask, database }: { readonly ask: Ask; readonly database: string },
  number: number,
  { signal }: Pick<BenchOptions, 'signal'>,
): Promise<Measured> {
  const before = usedBytes(database)
  const startedAt = performance.now()
  await round(ask, runsEach, number)
  const wallMs = performance.now() - startedAt
  signal.throwIfAborted()
  return { perSecond: (runsCount * 1000) / wallMs, bytes: (usedBytes(database) - before) / runsCount }
}

async function round(ask: Ask, each: number, number: number): Promise<void> {
  const lanes = Array.from({ length: agents }, (_, agent) => agent)
  await inParallel(lanes, agents, async (agent) => {
    for (let one = 0; one < each; one += 1) {
      const said = await ask(agent, (number + 1) * runsCount + agent * runsEach + one)
      if (!said.includes('piece 0 of the answer'))
        throw new Error(`the answer is another: ${said.slice(0, 200)}`)
    }
  })
}

/** The size of the used pages, read on a second connection while another writes. */
function usedBytes(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const pragma = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size')
  } finally {
    database.close()
  }
}

function reportOf(all: ReadonlyMap<Name, readonly Measured[]>): BenchReport {
  const column = (name: Name, field: keyof Measured) => (all.get(name) ?? []).map((one) => one[field])
  const table = (field: keyof Measured, [title, unit, note]: readonly [string, string, string]) => ({
    title,
    columns: ['', unit, 'of the floor'],
    rows: [...all.keys()].map((name) => [
      name,
      figure(median(column(name, field)), field === 'bytes' ? 0 : 1),
      ratio(pairedRatio(column(name, field), column(names.bare, field))),
    ]),
    notes: [note],
  })
  return {
    tables: [
      table('perSecond', [
        `Runs: ${agents} agents, one chat each at a time`,
        'runs a second',
        'Agents are plain processes here, so that it is the mesh and the agent that are measured, and not the small share of a processor that a container has. Each run is queued, leased, charged with money, kept in the journal and told as events; the floor does none of it.',
      ]),
      table('bytes', [
        'Runs: growth of the database',
        'bytes a run',
        'Pages of all tables and indexes: the run, its letters, its journal records, its events, its rows of money and its recorded model call. Old events, records and spans are cut by their bounds later.',
      ]),
    ],
    figures: Object.fromEntries(all),
  }
}
