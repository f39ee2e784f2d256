import { describe, expect, it } from 'vitest'
import { filterTable, policySchema, type PolicyPod, type PolicyCluster } from './policy-rules.ts'

const agent: PolicyPod = { namespace: 'fleet', labels: { role: 'agent' }, address: '10.91.1.2' }
const mesh: PolicyPod = { namespace: 'mesh', labels: { role: 'mesh' }, address: '10.91.2.9' }

function aCluster(spec: object, pods: readonly PolicyPod[] = [agent, mesh]): PolicyCluster {
  return {
    policies: [policySchema.parse({ metadata: { name: 'one', namespace: 'fleet' }, spec })],
    pods,
    namespaces: new Map([
      ['fleet', {}],
      ['mesh', { name: 'mesh' }],
    ]),
  }
}

const rulesOf = (cluster: PolicyCluster, chain: string): readonly string[] =>
  filterTable(cluster, '10.91.1.0/24')
    .split('\n')
    .filter((line) => line.startsWith(`-A ${chain} `))
    .map((line) => line.slice(`-A ${chain} `.length))

describe('filterTable', () => {
  it('filterTable leaves an unselected pod alone, and drops traffic from unknown addresses', () => {
    const cluster = aCluster({ podSelector: { matchLabels: { role: 'other' } }, policyTypes: ['Egress'] })
    expect(rulesOf(cluster, 'FROM-10.91.1.2')).toEqual([])
    expect(rulesOf(cluster, 'SENDERS')).toEqual([
      '-s 10.91.1.2 -j FROM-10.91.1.2',
      '-s 10.91.1.2 -j RETURN',
      '-j DROP',
    ])
    expect(rulesOf(cluster, 'RECEIVERS').at(-1)).toBe('-j DROP')
    expect(rulesOf(cluster, 'FORWARD').slice(1)).toEqual([
      '-s 10.91.1.0/24 -j SENDERS',
      '-d 10.91.1.0/24 -j RECEIVERS',
    ])
  })

  it('filterTable denies both ways where a policy allows nothing', () => {
    const cluster = aCluster({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    expect(rulesOf(cluster, 'FROM-10.91.1.2')).toEqual(['-j DROP'])
    expect(rulesOf(cluster, 'TO-10.91.1.2')).toEqual(['-j DROP'])
    // The rules also cover traffic to the node itself.
    expect(rulesOf(cluster, 'INPUT')).toContain('-s 10.91.1.0/24 -j SENDERS')
  })

  it('filterTable allows a range at a port, and pods by their labels and those of their namespace', () => {
    const cluster = aCluster({
      podSelector: { matchLabels: { role: 'agent' } },
      policyTypes: ['Ingress', 'Egress'],
      egress: [{ to: [{ ipBlock: { cidr: '10.90.0.1/32' } }], ports: [{ protocol: 'TCP', port: 8420 }] }],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { name: 'mesh' } },
              podSelector: { matchLabels: { role: 'mesh' } },
            },
          ],
        },
      ],
    })
    expect(rulesOf(cluster, 'FROM-10.91.1.2')).toEqual([
      '-d 10.90.0.1/32 -p tcp -m tcp --dport 8420 -j RETURN',
      '-j DROP',
    ])
    expect(rulesOf(cluster, 'TO-10.91.1.2')).toEqual(['-s 10.91.2.9/32 -j RETURN', '-j DROP'])
  })

  it('filterTable does not hold a pod of another namespace to a policy', () => {
    const cluster = aCluster({ podSelector: {}, policyTypes: ['Egress'] }, [{ ...agent, namespace: 'mesh' }])
    expect(rulesOf(cluster, 'FROM-10.91.1.2')).toEqual([])
  })

  it('filterTable refuses a policy that says more than is understood', () => {
    expect(() => aCluster({ podSelector: { matchExpressions: [] }, policyTypes: ['Egress'] })).toThrow(
      /matchExpressions/,
    )
  })
})
