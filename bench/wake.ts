import { controlEndpoints } from '@flotilla/protocol/control-api'
import type { MeshProcess } from '../tests/support/mesh-process.ts'
import type { Bench, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { startFleetMesh } from './fleet-mesh.ts'
import { median, pairedRatio, percentile } from './statistics.ts'
import { figure, ratio } from './table.ts'

const names = {
  create: 'create to ready: a new agent',
  wake: 'wake: an agent that sleeps',
  warm: 'an agent that is awake',
} as const
type Name = (typeof names)[keyof typeof names]

export const wakeBench: Bench = {
  name: 'wake',
  claim: 'from the asking to the first result of a hibernated agent, against a new one',
  defaultRuns: 15,
  run: async ({ runs, progress, signal }) => {
    const mesh = await startFleetMesh()
    try {
      await mesh.createWorker('sleeper')
      await firstResult(mesh, 'sleeper')
      const all = new Map<Name, number[]>(Object.values(names).map((name) => [name, []]))
      for (let round = 0; round < runs && !signal.aborted; round += 1) {
        progress(`round ${round + 1} of ${runs}`)
        for (const name of rotated(Object.values(names), round)) {
          all.get(name)?.push(await measures[name](mesh, round))
        }
      }
      return reportOf(all)
    } finally {
      await mesh.stop()
    }
  },
}

/** Each measures the milliseconds until the result, without preparation and clean-up. */
const measures: Record<Name, (mesh: MeshProcess, round: number) => Promise<number>> = {
  [names.create]: async (mesh, round) => {
    const id = `new-${round}`
    const startedAt = performance.now()
    await mesh.createWorker(id)
    await firstResult(mesh, id)
    const ms = performance.now() - startedAt
    await good(mesh, controlEndpoints.agentDelete, id)
    return ms
  },
  [names.wake]: async (mesh) => {
    await good(mesh, controlEndpoints.agentHibernate, 'sleeper')
    return timed(() => firstResult(mesh, 'sleeper'))
  },
  [names.warm]: async (mesh) => {
    await firstResult(mesh, 'sleeper')
    return timed(() => firstResult(mesh, 'sleeper'))
  },
}

/** Requests the cheapest work that an agent does for a caller. */
async function firstResult(mesh: MeshProcess, id: string): Promise<void> {
  const run = await mesh.invoke(id, 'list_files', { path: '.' })
  if (run.outcome?.status !== 'done') throw new Error(`${id} answered ${JSON.stringify(run.outcome)}`)
}

async function good(
  mesh: MeshProcess,
  endpoint: Parameters<MeshProcess['call']>[0],
  id: string,
): Promise<void> {
  const reply = await mesh.call(endpoint, { params: { id } })
  if (reply.status >= 300) throw new Error(`${endpoint.path} of ${id}: HTTP ${reply.status} ${reply.text}`)
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function reportOf(all: ReadonlyMap<Name, readonly number[]>): BenchReport {
  const floor = all.get(names.create) ?? []
  return {
    tables: [
      {
        title: 'Wake of a hibernated agent',
        columns: ['', 'ms', 'p90', 'max', 'of create to ready'],
        rows: [...all].map(([name, ms]) => [
          name,
          figure(median(ms), 0),
          figure(percentile(ms, 90), 0),
          figure(Math.max(...ms), 0),
          ratio(pairedRatio(ms, floor)),
        ]),
        notes: [
          'Each is one call of a tool without a model over the people’s API, in real containers; the goal for waking is 1.5 x at most.',
        ],
      },
    ],
    figures: Object.fromEntries(all),
  }
}
