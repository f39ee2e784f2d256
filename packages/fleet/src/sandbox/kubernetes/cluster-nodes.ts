import { isIP } from 'node:net'
import type { V1Node } from '@kubernetes/client-node'
import type { SandboxNetwork } from '../sandbox-runtime.ts'
import type { PodGround } from './agent-objects.ts'

/** The facts about a cluster node that matter for agents. */
export interface AgentNode {
  readonly name: string
  readonly addresses: readonly string[]
  /** Address ranges of the pods on the node; empty if its network does not report them. */
  readonly podRanges: readonly string[]
  /** Whether the node supports user namespaces for pods. */
  readonly userNamespaces: boolean
}

/** The nodes on which pods can be scheduled now. Pure. */
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
      // The default runtime has an empty name.
      userNamespaces:
        status?.runtimeHandlers?.some(({ name, features }) => !name && features?.userNamespaces === true) ??
        false,
    }))
}

/** The cluster's networks, from which the egress filter keeps agents. Pure. */
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
      // If no node states the range of its pods, the address of the mesh is all that is known of their
      // network.
      own: ranges.length === 0 && ownAddresses.includes(address),
    }),
  )
  return [...ranges, ...hosts]
}
