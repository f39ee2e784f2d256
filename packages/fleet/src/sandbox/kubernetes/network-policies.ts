import { isIPv6 } from 'node:net'
import { labelKeys } from '../hardening/container-options.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'

/**
 * Returns the network policies of a home. Pods in its namespace can neither connect anywhere nor be reached, except
 * that pods of the home reach the listeners of the mesh, and the mesh reaches the agents. A cluster can accept
 * policies without enforcing them, so a probe tests them. Pure.
 */
export function networkPolicies(home: {
  readonly homeId: string
  readonly namespace: string
  /** Where the mesh runs: at an address outside of the cluster, or in pods of another namespace. */
  readonly mesh: MeshPlace
  /** Ports of the agent API and the forward proxy. */
  readonly meshPorts: readonly number[]
}) {
  const mesh = [peerOf(home.mesh)]
  const tag = homeTag(home.homeId)
  const policy = (name: string, spec: object) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: `flotilla-${tag}-${name}`,
      namespace: home.namespace,
      labels: { [labelKeys.home]: tag },
    },
    spec: { ...spec, policyTypes: ['Ingress', 'Egress'] },
  })
  return [
    policy('nothing', { podSelector: {} }),
    policy('doors', {
      podSelector: { matchLabels: { [labelKeys.home]: tag } },
      egress: [{ to: mesh, ports: home.meshPorts.map((port) => ({ protocol: 'TCP', port })) }],
      ingress: [{ from: mesh, ports: [{ protocol: 'TCP', port: sandboxHardening.agentPort }] }],
    }),
  ]
}

export type MeshPlace =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'pods'; readonly namespace: string }

/** Labels of every mesh pod. */
export const meshPodLabels = { 'app.kubernetes.io/name': 'flotilla-mesh' } as const

/** Selects the mesh for a policy. Pods are selected by label: many network plugins ignore `ipBlock` for pods. */
function peerOf(mesh: MeshPlace) {
  if (mesh.kind === 'address') {
    return { ipBlock: { cidr: `${mesh.address}/${isIPv6(mesh.address) ? 128 : 32}` } }
  }
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': mesh.namespace } },
    podSelector: { matchLabels: meshPodLabels },
  }
}

/** Label of a namespace with the pod security level that the API server enforces. */
export const podSecurityLabel = 'pod-security.kubernetes.io/enforce'
export const podSecurityLevel = 'restricted'

/** Returns the namespace of homes, in which the cluster itself rejects pods with more rights than an agent. Pure. */
export function agentNamespace(name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: {
        [podSecurityLabel]: podSecurityLevel,
        [`${podSecurityLabel}-version`]: 'latest',
      },
    },
  }
}
