import { isIP } from 'node:net'
import type { V1Node } from '@kubernetes/client-node'
import type { SandboxNetwork } from '../sandbox-runtime.ts'
import type { PodGround } from './agent-objects.ts'

/** The facts about a cluster node that matter for agents. */
export interface AgentNode {
  readonly name: string
  readonly addresses: readonly string[]
  /** Address ranges of the node's pods; empty if the node does not report any. */
  readonly podRanges: readonly string[]
  /** Whether the node supports user namespaces for pods. */
  readonly userNamespaces: boolean
}

/** Returns the nodes on which pods can be scheduled now. Pure. */
export function agentNodes(items: readonly V1Node[]): readonly AgentNode[] {
  return items
    .filter(({ spec, status }) => {
      const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')
      const isClosed =
        spec?.unschedulable || spec?.taints?.some(({ effect }) => effect !== 'PreferNoSchedule')
      return isReady && !isClosed
    })
    .map(({ metadata, spec, status }) => ({
      name: metadata?.name ?? '',
      addresses: (status?.addresses ?? []).map(({ address }) => address).filter((one) => isIP(one) !== 0),
      podRanges: spec?.podCIDRs ?? [],
      // The entry without a name describes the default container runtime.
      userNamespaces:
        status?.runtimeHandlers?.some(({ name, features }) => !name && features?.userNamespaces === true) ??
        false,
    }))
}

/** Returns the networks of the cluster, which the egress filter closes to agents. Pure. */
export function clusterNetworks(
  nodes: readonly AgentNode[],
  mesh: Pick<PodGround, 'meshAddress' | 'ownAddress'>,
): readonly SandboxNetwork[] {
  const ranges = nodes
    .flatMap(({ podRanges }) => podRanges)
    .map((range) => {
      const [address = '', prefix] = range.split('/')
      return { address, prefix: Number(prefix), own: true }
    })
  const ownAddresses = [mesh.meshAddress, mesh.ownAddress]
  const hosts = [...new Set([...ownAddresses, ...nodes.flatMap(({ addresses }) => addresses)])].map(
    (address) => ({
      address,
      prefix: isIP(address) === 6 ? 128 : 32,
      // If no node reports a range of pod addresses, only the address of the mesh is known to be on the pods'
      // network.
      own: ranges.length === 0 && ownAddresses.includes(address),
    }),
  )
  return [...ranges, ...hosts]
}
