import { SandboxError, sandboxWords } from '../sandbox-error.ts'
import { connectCluster, type ClusterAddress } from './connect-cluster.ts'
import { inspectGround } from './prepare-ground.ts'
import type { MeshService } from './prepare-ground.ts'

export interface ClusterFinding {
  readonly ok: boolean
  readonly detail: string
  readonly repair: string
}

/** Reports whether agents could run in the cluster now, as text for the owner; changes nothing. */
export async function inspectCluster(
  at: ClusterAddress & {
    readonly namespace: string
    readonly meshAddress?: string
    readonly service?: MeshService
  },
): Promise<ClusterFinding> {
  try {
    const cluster = await connectCluster(at)
    const { nodes, hasNamespace } = await inspectGround(cluster, at)
    const where = `namespace ${at.namespace}${hasNamespace ? '' : ', which the next start creates'}`
    return {
      ok: nodes.length > 0,
      detail: `the cluster at ${cluster.url.host} answers; ${nodes.length} nodes take agents, in ${where}`,
      repair: 'See `kubectl get nodes`: no node is ready, schedulable and free of taints.',
    }
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error
    return { ok: false, ...sandboxWords(error) }
  }
}
