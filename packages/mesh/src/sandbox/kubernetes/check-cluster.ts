import type { Clock } from '@flotilla/protocol/clock'
import { openCanary, reaches } from '../isolation/canary.ts'
import {
  containerWalls,
  networkWalls,
  probeReportSchema,
  outsideTargets,
  type ProbeTarget,
  type ProbeReport,
} from '../isolation/isolation-report.ts'
import { SandboxError } from '../sandbox-error.ts'
import { sandboxHardening, sandboxSizes } from '../sandbox-spec.ts'
import type { WallReport } from '../wall-report.ts'
import { nodesNeed, probePod } from './agent-objects.ts'
import type { AgentNode } from './cluster-nodes.ts'
import { hasEnded, startFailure, waitsFor } from './pod-state.ts'
import { PodWaitOver } from './pod-watch.ts'
import { removePod, type PreparedCluster } from './start-pod.ts'

const probeMaxMs = 120_000
const siblingReadyMs = 30_000
const siblingAskMs = 100
/** A report is some kilobytes. */
const reportMaxBytes = 256 * 1024
const kubeletPort = 10_250
/** Nodes that are tried at once: each has a probe of half a processor for some seconds. */
const triedAtOnce = 8

export interface ClusterCheckOptions {
  readonly nodes: readonly AgentNode[]
  readonly meshPort: number
  readonly newName: () => string
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/**
 * Tries the walls from a throw-away pod with an agent's hardening on every node, since each enforces policies by itself:
 * a wall holds where it holds on all of them. What must not be reached is first shown to be reachable from the mesh.
 */
export async function checkCluster(
  to: PreparedCluster,
  options: ClusterCheckOptions,
): Promise<readonly WallReport[]> {
  const { nodes } = options
  const [first] = nodes
  if (first === undefined)
    throw new SandboxError(
      'no-node',
      'No node of the cluster takes pods of agents: none is ready, open and free of taints.\nRepair: look at `kubectl get nodes`.',
    )
  const { meshAddress, ownAddress } = to.ground
  const canary = await openCanary()
  const sibling = options.newName()
  try {
    const api = to.cluster.url
    const controlled: readonly ProbeTarget[] = [
      { group: 'host', host: ownAddress, port: canary.port },
      { group: 'host', host: api.hostname, port: Number(api.port || 443) },
      ...nodes.flatMap(({ addresses }) =>
        addresses.map((host): ProbeTarget => ({ group: 'host', host, port: kubeletPort })),
      ),
      {
        group: 'sibling',
        host: await startSibling(to, { name: sibling, node: first }, options),
        port: sandboxHardening.agentPort,
      },
    ]
    const shown = await Promise.all(controlled.map(({ host, port }) => reaches(host, port)))
    const reachedFromHost = controlled
      .filter((_, index) => shown[index])
      .map(({ host, port }) => `${host}:${port}`)
    const connect = [
      { group: 'mesh', host: meshAddress, port: options.meshPort },
      ...controlled,
      ...outsideTargets,
    ]
    const plan = JSON.stringify({ connect, names: ['example.com'] })
    const reports: WallReport[][] = []
    for (let from = 0; from < nodes.length; from += triedAtOnce) {
      const part = nodes.slice(from, from + triedAtOnce)
      const tried = part.map(async (node) => {
        const report = await probeNode(to, { node, plan }, options)
        const walls = [
          ...networkWalls(report, { reachedFromHost }, 'agents'),
          ...containerWalls(report, 'shared'),
        ]
        return walls.map((wall) => ({ ...wall, detail: `${node.name}: ${wall.detail}` }))
      })
      reports.push(...(await Promise.all(tried)))
    }
    return joinedWalls(reports)
  } finally {
    await Promise.allSettled([canary.close(), removePod(to, sibling, () => undefined)])
  }
}

/** One report of those of all nodes, which tell of those that fell where any did. Pure. */
export function joinedWalls(reports: readonly (readonly WallReport[])[]): readonly WallReport[] {
  const ids = [...new Set(reports.flat().map(({ id }) => id))]
  return ids.map((id) => {
    const all = reports.flat().filter((wall) => wall.id === id)
    const fallen = all.filter(({ holds }) => !holds)
    const told = fallen.length === 0 ? all : fallen
    return { id, holds: fallen.length === 0, detail: told.map(({ detail }) => detail).join('; ') }
  })
}

/** A wider share than an agent's, since walls do not depend on it and the owner waits. */
const probeSize = {
  memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
  cpu: { quotaUs: 50_000, periodUs: 100_000 },
}

/** Rules come to a pod a moment after it: until it may reach the mesh it reaches nothing, and a try would say so of the mesh too. */
const probeOnceMeshAnswers = `
const plan = JSON.parse(process.argv[1])
const mesh = plan.connect[0]
const start = () => { process.argv[2] = process.argv[1]; require('/opt/flotilla/probe-walls.cjs') }
const left = { tries: 100 }
const attempt = () => {
  const socket = require('node:net').connect(mesh.port, mesh.host)
  const again = () => { socket.destroy(); left.tries-- > 0 ? setTimeout(attempt, 100) : start() }
  socket.setTimeout(500, again)
  socket.on('error', again)
  socket.on('connect', () => { socket.destroy(); start() })
}
attempt()`

async function probeNode(
  to: PreparedCluster,
  { node, plan }: { readonly node: AgentNode; readonly plan: string },
  options: ClusterCheckOptions,
): Promise<ProbeReport> {
  const { cluster, ground, watch } = to
  const { namespace } = ground
  const name = options.newName()
  const command = ['node', '--eval', probeOnceMeshAnswers, plan]
  const body = probePod(ground, { name, node: node.name, command, size: probeSize })
  await cluster.core.createNamespacedPod({ namespace, body })
  try {
    const ended = await watch
      .reaches(name, (pod) => pod !== null && (hasEnded(pod) || startFailure(pod) !== null), {
        ms: probeMaxMs,
        signal: options.signal,
      })
      .catch((error: unknown) => {
        if (error instanceof PodWaitOver && error.last !== null) return error.last
        throw error
      })
    const log =
      ended?.status?.phase === 'Succeeded'
        ? await cluster.core.readNamespacedPodLog({ namespace, name, limitBytes: reportMaxBytes })
        : ''
    const report = probeReportSchema.safeParse(log === '' ? null : JSON.parse(log))
    if (report.success) return report.data
    throw new SandboxError(
      'wall-probe-failed',
      `The probe of the walls failed on ${node.name}: ${ended === null ? 'it is gone' : waitsFor(ended)}\nRepair: ${nodesNeed(ground)}; the events of namespace ${namespace} tell more.`,
    )
  } finally {
    await removePod(to, name, () => undefined)
  }
}

/** Gives its address once it is reached from here, or the bound is over. */
async function startSibling(
  { cluster, ground, watch }: PreparedCluster,
  { name, node }: { readonly name: string; readonly node: AgentNode },
  { clock, signal }: ClusterCheckOptions,
): Promise<string> {
  const { namespace } = ground
  const port = sandboxHardening.agentPort
  const listener = `require('node:net').createServer((s) => s.end()).listen(${port}, '0.0.0.0')`
  const command = ['node', '--eval', listener]
  const body = probePod(ground, { name, node: node.name, command, size: probeSize })
  await cluster.core.createNamespacedPod({ namespace, body })
  const runs = await watch.reaches(name, (pod) => Boolean(pod?.status?.podIP), { ms: probeMaxMs, signal })
  const host = runs?.status?.podIP ?? ''
  const deadline = clock.now() + siblingReadyMs
  while (!(await reaches(host, port)) && clock.now() < deadline) await clock.sleep(siblingAskMs, signal)
  return host
}
