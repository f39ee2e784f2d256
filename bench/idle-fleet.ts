import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { labelKeys } from '../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag } from '../packages/fleet/src/sandbox/sandbox-spec.ts'
import type { MeshProcess } from '../tests/support/mesh-process.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { prepareGround } from './container-ground.ts'
import type { BenchGround } from './container-ground.ts'
import { containerVariants } from './container-variants.ts'
import { cpuShare, heldBytes, inParallel, residentBytes, startAgent, startFleetMesh } from './fleet-mesh.ts'
import { median } from './statistics.ts'
import { figure, ratio } from './table.ts'
import { removeContainer, timedStart } from './timed-start.ts'

/** Number of concurrent starts, of agents and of the baseline. */
const together = 8
/** Number of baseline containers, enough for a mean. */
const floorCount = 20
/** Wait until the work after a start is done. */
const restMs = 30_000
/** Two rounds of the mesh's health checks, so that each measured interval contains the same number. */
const windowMs = 60_000
const windows = 3
/** The interval in which the mesh asks its agents for their status. */
const askEveryMs = 30_000
const agentPort = 8400
const megabyte = 1024 ** 2

interface Measured {
  readonly startMs: number
  readonly floorStartMs: number
  readonly bytesEach: number
  readonly floorBytesEach: number
  readonly meshShares: readonly number[]
  readonly aloneShare: number
  readonly bareShares: readonly number[]
  readonly meshBytes: number
}

/** An idle fleet of so many agents in real containers. */
export function idleFleetBench(count: number, defaultRuns: number): Bench {
  return {
    name: `idle-${count}`,
    claim: `${count} idle agents in containers: time to start all, memory of each, what the mesh uses of a core`,
    defaultRuns,
    run: async (options) => {
      const ground = await prepareGround(options)
      try {
        const rounds: Measured[] = []
        for (let round = 0; round < options.runs && !options.signal.aborted; round += 1) {
          const progress = (step: string) =>
            options.progress(`round ${round + 1} of ${options.runs}: ${step}`)
          rounds.push(await measure(count, ground, { ...options, progress }))
        }
        return reportOf(count, rounds)
      } finally {
        await ground.close()
      }
    },
  }
}

async function measure(count: number, ground: BenchGround, options: BenchOptions): Promise<Measured> {
  const floor = await floorStarts(ground, options)
  const { progress, signal } = options
  const mesh = await startFleetMesh()
  try {
    progress('the mesh with its operator alone')
    await delay(restMs, undefined, { signal })
    const aloneShare = await cpuShare(mesh.pid, windowMs, signal)
    const ids = Array.from({ length: count }, (_, number) => `idle-${number}`)
    for (const id of ids) await mesh.createWorker(id)
    const startedAt = performance.now()
    let ready = 0
    await inParallel(ids, together, async (id) => {
      signal.throwIfAborted()
      await startAgent(mesh, id)
      ready += 1
      if (ready % 50 === 0) progress(`${ready} of ${count} agents answer`)
    })
    const startMs = performance.now() - startedAt
    await delay(restMs, undefined, { signal })
    const containers = await containersOf(ground, mesh, count)
    const hosts = containers.map(({ host }) => host)
    const bytesEach = median(containers.map(({ pid }) => heldBytes(pid)))
    const meshShares: number[] = []
    const bareShares: number[] = []
    for (let window = 0; window < windows; window += 1) {
      progress(`idle, window ${window + 1} of ${windows}`)
      meshShares.push(await cpuShare(mesh.pid, windowMs, signal))
      bareShares.push(await bareShare(hosts, signal))
    }
    const meshBytes = residentBytes(mesh.pid)
    return { ...floor, startMs, bytesEach, meshShares, aloneShare, bareShares, meshBytes }
  } finally {
    progress('taking the fleet away')
    await mesh.stop()
  }
}

/**
 * Starts the same container with a minimal program, with as many concurrent starts; returns means for one
 * container.
 */
async function floorStarts(
  ground: BenchGround,
  { progress, signal }: BenchOptions,
): Promise<Pick<Measured, 'floorStartMs' | 'floorBytesEach'>> {
  progress(`${floorCount} containers of the floor`)
  const variant = containerVariants(ground).static
  const ids = Array.from({ length: floorCount }, (_, number) => `floor-${number}`)
  const made: string[] = []
  const bytes: number[] = []
  const startedAt = performance.now()
  try {
    await inParallel(ids, together, async (agentId) => {
      const { container } = await timedStart(ground, { variant, kind: 'worker', agentId, signal })
      made.push(agentId)
      bytes.push(heldBytes((await container.inspect()).State.Pid))
    })
    const floorStartMs = (performance.now() - startedAt) / floorCount
    return { floorStartMs, floorBytesEach: median(bytes) }
  } finally {
    for (const agentId of made) await removeContainer(ground, agentId)
  }
}

/** Returns the address of each agent and the process id of its first process on this machine. */
async function containersOf(
  ground: BenchGround,
  mesh: MeshProcess,
  count: number,
): Promise<readonly { readonly host: string; readonly pid: number }[]> {
  const { docker } = ground.engine
  const homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
  const label = [`${labelKeys.home}=${homeTag(homeId)}`]
  const own = (await docker.listContainers({ filters: { label } })).filter(({ Labels }) =>
    /^idle-\d+$/.test(Labels[labelKeys.agent] ?? ''),
  )
  if (own.length !== count) {
    throw new Error(`${own.length} of ${count} agents run: ${mesh.log().slice(-500)}`)
  }
  return Promise.all(
    own.map(async ({ Id }) => {
      const { NetworkSettings, State } = await docker.getContainer(Id).inspect()
      const [network] = Object.values(NetworkSettings.Networks)
      return { host: network?.IPAddress ?? '', pid: State.Pid }
    }),
  )
}

/**
 * CPU share of a client that requests the status of each agent as often as the mesh does and ignores the answer.
 */
async function bareShare(hosts: readonly string[], signal: AbortSignal): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (host: string) =>
    new Promise<void>((resolve, reject) => {
      const asked = request({ agent, host, port: agentPort, path: '/healthz' }, (reply) => {
        reply.resume()
        reply.once('end', () => resolve())
      })
      asked.once('error', reject)
      asked.end()
    })
  try {
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    for (let asked = 0; asked < windowMs / askEveryMs; asked += 1) {
      await inParallel(hosts, together, ask)
      await delay(askEveryMs * (asked + 1) - (performance.now() - startedAt), undefined, { signal })
    }
    const { user, system } = process.cpuUsage(cpu)
    return (user + system) / 10 / (performance.now() - startedAt)
  } finally {
    agent.destroy()
  }
}

function reportOf(count: number, rounds: readonly Measured[]): BenchReport {
  const of = (
    field: 'startMs' | 'floorStartMs' | 'bytesEach' | 'floorBytesEach' | 'aloneShare' | 'meshBytes',
  ) => median(rounds.map((round) => round[field]))
  const mesh = median(rounds.flatMap(({ meshShares }) => meshShares))
  const bare = median(rounds.flatMap(({ bareShares }) => bareShares))
  const each = median(rounds.map(({ startMs }) => startMs / count))
  return {
    tables: [
      {
        title: `${count} idle agents: start and memory`,
        columns: ['', 'start of all, s', 'of each, ms', 'memory of each, MB'],
        rows: [
          [
            'static server in the same container (floor)',
            '',
            figure(of('floorStartMs'), 0),
            figure(of('floorBytesEach') / megabyte, 1),
          ],
          [
            'agents of a mesh',
            figure(of('startMs') / 1000, 1),
            figure(each, 0),
            figure(of('bytesEach') / megabyte, 1),
          ],
          [
            'of the floor',
            '',
            ratio(each / of('floorStartMs')),
            ratio(of('bytesEach') / of('floorBytesEach')),
          ],
        ],
        notes: [
          `${together} starts are asked for at once. Memory is the median of what the kernel charges to a container, with the engine’s own process for it; the mesh itself holds ${figure(of('meshBytes') / megabyte, 0)} MB beside it.`,
        ],
      },
      {
        title: `${count} idle agents: what looking after them takes of one core`,
        columns: ['', 'percent of a core'],
        rows: [
          [`a bare client that asks ${count} every ${askEveryMs / 1000} s (floor)`, figure(bare, 2)],
          ['the mesh with its operator alone', figure(of('aloneShare'), 2)],
          [`the mesh with ${count} agents`, figure(mesh, 2)],
          ['of the floor', ratio(mesh / bare)],
        ],
        notes: [
          `Medians of windows of ${windowMs / 1000} s, ${windows} in a round. The processor time is that of the mesh's process with all its threads; the goal for 100 is 2 %.`,
        ],
      },
    ],
    figures: { rounds },
  }
}
