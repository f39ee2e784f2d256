import { openCanary, reaches } from '../hardening/canary.ts'
import {
  containerWalls,
  networkWalls,
  openFilesWall,
  outsideTargets,
  type ProbeTarget,
} from '../hardening/isolation-report.ts'
import { SandboxError } from '../sandbox-error.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import type { WallReport } from '../wall-report.ts'
import type { AgentNode } from './cluster-nodes.ts'
import type { Cluster } from './connect-cluster.ts'
import { probeNode, withSibling, type ProbedCluster, type ProbeOptions } from './probe-node.ts'

const kubeletPort = 10_250
/** The number of nodes tested at once: each probe uses half a processor for some seconds. */
const triedAtOnce = 8

type CheckedCluster = ProbedCluster & { readonly cluster: Pick<Cluster, 'url'> }

export interface ClusterCheckOptions extends ProbeOptions {
  readonly meshPort: number
}

export interface ClusterCheck {
  readonly walls: readonly WallReport[]
  /** Nodes whose walls were tested, without nodes that were lost during the test. */
  readonly triedNodes: readonly string[]
  readonly lostNodes: readonly string[]
}

/**
 * Tests the isolation from a throw-away pod with an agent's hardening on every node, because each node enforces
 * policies itself: a check passes if it passes on all nodes. Targets that pods must not reach are first shown to be
 * reachable from the mesh.
 */
export async function checkCluster(to: CheckedCluster, options: ClusterCheckOptions): Promise<ClusterCheck> {
  const nodes = await options.nodesNow()
  if (nodes.length === 0) throw noNode()
  const canary = await openCanary()
  try {
    return await withSibling(to, { ...options, nodes }, async (sibling) => {
      const { ownAddress } = to.ground
      const api = to.cluster.url
      const controlled: readonly ProbeTarget[] = [
        { group: 'host', host: ownAddress, port: canary.port },
        { group: 'host', host: api.hostname, port: Number(api.port || 443) },
        ...nodes.flatMap(({ addresses }) =>
          addresses.map((host): ProbeTarget => ({ group: 'host', host, port: kubeletPort })),
        ),
        { group: 'sibling', host: sibling, port: sandboxHardening.agentPort },
      ]
      return tryNodes(to, { nodes, controlled }, options)
    })
  } finally {
    await canary.close()
  }
}

async function tryNodes(
  to: CheckedCluster,
  {
    nodes,
    controlled,
  }: { readonly nodes: readonly AgentNode[]; readonly controlled: readonly ProbeTarget[] },
  options: ClusterCheckOptions,
): Promise<ClusterCheck> {
  const shown = await Promise.all(controlled.map(({ host, port }) => reaches(host, port)))
  const reachedFromHost = controlled
    .filter((_, index) => shown[index])
    .map(({ host, port }) => `${host}:${port}`)
  const connect = [
    { group: 'mesh', host: to.ground.meshAddress, port: options.meshPort },
    ...controlled,
    ...outsideTargets,
  ]
  const plan = JSON.stringify({ connect, names: ['example.com'] })
  const tried = new Map<string, readonly WallReport[]>()
  for (let from = 0; from < nodes.length; from += triedAtOnce) {
    const part = nodes.slice(from, from + triedAtOnce).map(async (node) => {
      const report = await probeNode(to, { node, plan }, options)
      if (report === null) return
      const walls = [
        ...networkWalls(report, { reachedFromHost }, 'agents'),
        ...containerWalls(report, 'shared'),
        openFilesWall(report),
      ]
      tried.set(
        node.name,
        walls.map((wall) => ({ ...wall, detail: `${node.name}: ${wall.detail}` })),
      )
    })
    await Promise.all(part)
  }
  if (tried.size === 0) throw noNode()
  const lostNodes = nodes.map(({ name }) => name).filter((name) => !tried.has(name))
  return { walls: joinedWalls([...tried.values()]), triedNodes: [...tried.keys()], lostNodes }
}

/** Joins the reports of all nodes into one, with the details of nodes where the wall failed, else of all. Pure. */
export function joinedWalls(reports: readonly (readonly WallReport[])[]): readonly WallReport[] {
  const ids = [...new Set(reports.flat().map(({ id }) => id))]
  return ids.map((id) => {
    const all = reports.flat().filter((wall) => wall.id === id)
    const fallen = all.filter(({ holds }) => !holds)
    const reported = fallen.length === 0 ? all : fallen
    return { id, holds: fallen.length === 0, detail: reported.map(({ detail }) => detail).join('; ') }
  })
}

function noNode(): SandboxError {
  return new SandboxError(
    'no-node',
    'No node of the cluster accepts pods of agents: no node is ready, schedulable and free of taints.\nRepair: see the nodes with `kubectl get nodes`.',
  )
}
