import * as z from 'zod'

const selectorSchema = z.strictObject({ matchLabels: z.record(z.string(), z.string()).optional() })
const peerSchema = z.strictObject({
  podSelector: selectorSchema.optional(),
  namespaceSelector: selectorSchema.optional(),
  ipBlock: z.strictObject({ cidr: z.string(), except: z.array(z.string()).optional() }).optional(),
})
const portSchema = z.strictObject({ protocol: z.enum(['TCP', 'UDP']).optional(), port: z.int().optional() })
const portsSchema = z.array(portSchema).optional()

/**
 * The fields of a NetworkPolicy that this file understands. Other fields are rejected, since an ignored field would
 * not be enforced. To support a further field, add it here and to the rules below.
 */
export const policySchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.strictObject({
    podSelector: selectorSchema,
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
    ingress: z.array(z.strictObject({ from: z.array(peerSchema).optional(), ports: portsSchema })).optional(),
    egress: z.array(z.strictObject({ to: z.array(peerSchema).optional(), ports: portsSchema })).optional(),
  }),
})

export type NetworkPolicy = z.infer<typeof policySchema>
type Peer = z.infer<typeof peerSchema>
type Ports = z.infer<typeof portsSchema>
type Selector = z.infer<typeof selectorSchema>

export interface PolicyPod {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly address: string
}

export interface PolicyCluster {
  readonly policies: readonly NetworkPolicy[]
  readonly pods: readonly PolicyPod[]
  /** Labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/**
 * The filter table of a node whose pods have addresses of `podRange`, for `iptables-restore`. Pure. A pod that no
 * policy selects may do everything, as in Kubernetes. An address of the range whose pod is not known yet may do
 * nothing, so that no pod sends before its rules are in force. Traffic of the node itself to its pods passes, as
 * the kubelet needs.
 */
export function filterTable(harness: PolicyCluster, podRange: string): string {
  const local = harness.pods.filter(({ address }) => isInRange(address, podRange))
  const chains: string[] = []
  const rules: string[] = []
  for (const pod of local) {
    for (const [type, end, flag, all] of [
      ['Egress', 'FROM', '-s', 'SENDERS'],
      ['Ingress', 'TO', '-d', 'RECEIVERS'],
    ] as const) {
      const chain = `${end}-${pod.address}`
      chains.push(`:${chain} - [0:0]`)
      rules.push(`-A ${all} ${flag} ${pod.address} -j ${chain}`, `-A ${all} ${flag} ${pod.address} -j RETURN`)
      rules.push(...chainRules(harness, pod, type).map((rule) => `-A ${chain} ${rule}`))
    }
  }
  return [
    '*filter',
    ':INPUT ACCEPT [0:0]',
    ':FORWARD ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ':SENDERS - [0:0]',
    ':RECEIVERS - [0:0]',
    ...chains,
    '-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
    `-A INPUT -s ${podRange} -j SENDERS`,
    '-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
    `-A FORWARD -s ${podRange} -j SENDERS`,
    `-A FORWARD -d ${podRange} -j RECEIVERS`,
    ...rules,
    '-A SENDERS -j DROP',
    '-A RECEIVERS -j DROP',
    'COMMIT',
    '',
  ].join('\n')
}

/**
 * Returns to the caller's chain if one policy allows the traffic; ends with a drop if at least one policy selects
 * the pod.
 */
function chainRules(harness: PolicyCluster, pod: PolicyPod, type: 'Ingress' | 'Egress'): readonly string[] {
  const selecting = harness.policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      spec.policyTypes.includes(type) &&
      selects(spec.podSelector, pod.labels),
  )
  if (selecting.length === 0) return []
  const allowed = selecting.flatMap(({ metadata, spec }) => {
    const entries =
      type === 'Ingress'
        ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
    const flag = type === 'Ingress' ? '-s' : '-d'
    return entries.flatMap(({ peers, ports }) =>
      rangesOf(harness, metadata.namespace, peers).flatMap((range) =>
        portMatches(ports).map((match) => `${flag} ${range}${match} -j RETURN`),
      ),
    )
  })
  return [...allowed, '-j DROP']
}

function rangesOf(
  harness: PolicyCluster,
  namespace: string,
  peers: readonly Peer[] | undefined,
): readonly string[] {
  if (peers === undefined || peers.length === 0) return ['0.0.0.0/0']
  return peers.flatMap((peer) => {
    if (peer.ipBlock !== undefined) {
      if (peer.ipBlock.except !== undefined)
        throw new RangeError('a policy with exceptions is not understood')
      return [peer.ipBlock.cidr]
    }
    return harness.pods
      .filter((pod) =>
        peer.namespaceSelector === undefined
          ? pod.namespace === namespace
          : selects(peer.namespaceSelector, harness.namespaces.get(pod.namespace) ?? {}),
      )
      .filter((pod) => selects(peer.podSelector ?? {}, pod.labels))
      .map(({ address }) => `${address}/32`)
  })
}

function portMatches(ports: Ports): readonly string[] {
  if (ports === undefined || ports.length === 0) return ['']
  return ports.map(({ protocol = 'TCP', port }) => {
    const name = protocol.toLowerCase()
    return port === undefined ? ` -p ${name}` : ` -p ${name} -m ${name} --dport ${port}`
  })
}

const selects = (selector: Selector, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector.matchLabels ?? {}).every(([name, value]) => labels[name] === value)

/** Pod ranges end at a byte boundary. */
const isInRange = (address: string, range: string): boolean =>
  address.startsWith(range.slice(0, range.lastIndexOf('.') + 1))
