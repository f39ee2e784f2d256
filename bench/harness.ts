import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { startLlmUpstream } from '../tests/support/llm-upstream.ts'
import { startMesh } from '../tests/support/mesh-process.ts'
import { harnessSize, workerWithImage } from '../tests/docker/harness-fleet.ts'
import { findEngine } from '../packages/fleet/src/sandbox/engine/find-engine.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { proportionalBytes } from './fleet-mesh.ts'
import { installHarness, measuredHarness, startBareHarness } from './harness-program.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'

const places = ['inside', 'bare'] as const
interface Start {
  readonly place: (typeof places)[number]
  /** From the start to the first call of a model, milliseconds. */
  readonly firstCallMs: number
  /** Memory of the harness at its first call, with its part of shared pages, bytes. */
  readonly bytes: number
}
const agentId = 'measured'

export const harnessBench: Bench = {
  name: 'harness',
  claim: `from the message to the first model call of ${measuredHarness.name}, in an agent and bare on this machine`,
  defaultRuns: 5,
  // It downloads the harness twice.
  long: true,
  run: async (options) => {
    const starts = await measure(options)
    const of = (place: Start['place'], field: 'firstCallMs' | 'bytes') =>
      starts.filter((start) => start.place === place).map((start) => start[field])
    const titles = { inside: 'in an agent, with the tools of the fleet', bare: 'bare on this machine' }
    return {
      tables: [
        {
          title: `${measuredHarness.package}: start and memory`,
          columns: ['', 'first call, ms', 'fastest', 'memory, MB'],
          rows: places.map((place) => [
            titles[place],
            figure(median(of(place, 'firstCallMs')), 0),
            figure(Math.min(...of(place, 'firstCallMs')), 0),
            figure(median(of(place, 'bytes')) / 1024 ** 2, 0),
          ]),
          notes: [
            `Medians of ${options.runs} interleaved starts. Inside, the time begins when a person sends a message to a running agent with two processors, and includes the mesh and the gateway.`,
            'Memory is that of the harness and its programs at the first call, without the process of the agent (Pss).',
          ],
        },
      ],
      figures: { starts },
    }
  },
}

async function measure({ runs, folder, progress, signal }: BenchOptions): Promise<readonly Start[]> {
  const upstream = await startLlmUpstream()
  let called = Promise.withResolvers<number>()
  // No answer: the harness waits while it is measured.
  upstream.answerWith(() => called.resolve(performance.now()))
  progress('installing the harness on this machine')
  const programs = await installHarness(join(folder, 'installed'), signal)
  progress('starting a mesh and building the image of the agent')
  const mesh = await startMesh({
    runtime: 'docker',
    settings: {
      default_model: 'fake/measured',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/measured': { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
      agents: {
        [agentId]: {
          harness: measuredHarness.name,
          size: { ...harnessSize, cpus: 2 },
          packages: { npm: [measuredHarness.package] },
        },
      },
    },
  })
  const starts: Start[] = []
  try {
    await workerWithImage(mesh, agentId, { model: 'fake/measured' })
    await mesh.invoke(agentId, 'run_command', { command: 'true', timeout_s: 60 })
    const measureOnce = async (place: Start['place'], round: number): Promise<Start> => {
      called = Promise.withResolvers()
      const startedAt = performance.now()
      if (place === 'bare') {
        const home = join(folder, `home-${round}`)
        const address = upstream.baseUrl.slice(0, -'/v1'.length)
        const harness = await startBareHarness({ programs, home, model: 'measured', address })
        try {
          const firstCallMs = (await called.promise) - startedAt
          return { place, firstCallMs, bytes: treeBytes([harness.pid]) }
        } finally {
          await harness.close()
        }
      }
      const id = await mesh.submit('Say hello.', { agent: agentId, session: `round-${round}` })
      const firstCallMs = (await called.promise) - startedAt
      const bytes = treeBytes([await containerPid()], 'agent.cjs')
      await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })
      await mesh.ended(id)
      return { place, firstCallMs, bytes }
    }
    progress('warming up')
    for (const place of places) await measureOnce(place, -1)
    for (let round = 0; round < runs; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const place of rotated(places, round)) starts.push(await measureOnce(place, round))
    }
    return starts
  } finally {
    await mesh.stop()
    await upstream.close()
  }
}

/** Returns the first process of the agent's container. */
async function containerPid(): Promise<number> {
  const { engine } = await findEngine({ uid: process.getuid?.() ?? 0 })
  if (engine === null) throw new Error('no container engine answers')
  const label = [`flotilla.agent=${agentId}`, 'flotilla.role=agent']
  const [container] = await engine.docker.listContainers({ filters: { label } })
  if (container === undefined) throw new Error('the container of the agent does not run')
  return (await engine.docker.getContainer(container.Id).inspect()).State.Pid
}

/** Memory of processes and their descendants, without those whose command line contains `except`, bytes. */
function treeBytes(roots: readonly number[], except?: string): number {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const stat = textOf(`/proc/${name}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    parents.set(Number(name), parent)
  }
  const isBelow = (pid: number): boolean =>
    roots.includes(pid) || (parents.has(pid) && pid > 1 && isBelow(parents.get(pid) ?? 0))
  return [...parents.keys()]
    .filter((pid) => isBelow(pid))
    .filter((pid) => except === undefined || !textOf(`/proc/${pid}/cmdline`).includes(except))
    .reduce((sum, pid) => sum + ifAlive(() => proportionalBytes(pid), 0), 0)
}

const textOf = (path: string): string => ifAlive(() => readFileSync(path, 'utf8'), '')

/** Reads something of a process, which may have ended meanwhile. */
function ifAlive<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
