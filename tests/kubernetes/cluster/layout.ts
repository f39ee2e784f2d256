/**
 * Addresses of the cluster, all inside network namespaces of its own. Addresses that represent external networks
 * are on the fabric's loopback: a pod that gets through is answered, so a refusal proves that a policy was
 * enforced.
 */
export const fabric = {
  bridge: 'fabric',
  address: '10.90.0.1',
  prefix: 24,
  pods: '10.91.0.0/16',
  services: '10.92.0.0/24',
  /** The first address of the services, which is the API server's. */
  apiService: '10.92.0.1',
  apiPort: 6443,
  /** An address that represents the internet. */
  internet: '198.51.100.1',
  metadata: '169.254.169.254',
} as const

export interface NodePlace {
  readonly name: string
  readonly address: string
  /** Address range of the node's pods. */
  readonly podRange: string
}

export function nodePlace(index: number): NodePlace {
  return { name: `node-${index}`, address: `10.90.0.${10 + index}`, podRange: `10.91.${index}.0/24` }
}

export const nodeCount = 3
