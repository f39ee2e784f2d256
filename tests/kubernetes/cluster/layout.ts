/**
 * Addresses of the cluster, all inside network namespaces of its own. Those outside its networks stand on the fabric's
 * loopback, so that a pod that gets through is answered, and a refusal is the work of a wall.
 */
export const fabric = {
  bridge: 'fabric',
  address: '10.90.0.1',
  prefix: 24,
  pods: '10.91.0.0/16',
  services: '10.92.0.0/24',
  /** The first of them, which is the API server's. */
  apiService: '10.92.0.1',
  apiPort: 6443,
  /** As if it were the internet. */
  internet: '198.51.100.1',
  metadata: '169.254.169.254',
} as const

export interface NodePlace {
  readonly name: string
  readonly address: string
  /** Of its pods. */
  readonly podRange: string
}

export function nodePlace(index: number): NodePlace {
  return { name: `node-${index}`, address: `10.90.0.${10 + index}`, podRange: `10.91.${index}.0/24` }
}

export const nodeCount = 3
