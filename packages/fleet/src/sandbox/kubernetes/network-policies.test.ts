import { expect, it } from 'vitest'
import { homeTag } from '../sandbox-spec.ts'
import { agentNamespace, networkPolicies } from './network-policies.ts'

const home = {
  homeId: 'home-1',
  namespace: 'fleet',
  mesh: { kind: 'address', address: '10.0.0.9' },
  meshPorts: [8420, 8421],
} as const

it('a network policy denies everything in the namespace, and opens the listeners of the mesh to pods of the home alone', () => {
  const [nothing, toMesh] = networkPolicies(home)
  expect(nothing?.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  expect(toMesh?.spec).toEqual({
    podSelector: { matchLabels: { 'flotilla.home': homeTag('home-1') } },
    policyTypes: ['Ingress', 'Egress'],
    egress: [
      {
        to: [{ ipBlock: { cidr: '10.0.0.9/32' } }],
        ports: [
          { protocol: 'TCP', port: 8420 },
          { protocol: 'TCP', port: 8421 },
        ],
      },
    ],
    ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.9/32' } }], ports: [{ protocol: 'TCP', port: 8400 }] }],
  })
})

it('a network policy means one address alone, of either kind', () => {
  expect(
    JSON.stringify(networkPolicies({ ...home, mesh: { kind: 'address', address: 'fd00::9' } })),
  ).toContain('"fd00::9/128"')
})

it('a network policy selects pods of the mesh by label if the mesh runs in the cluster', () => {
  const [, toMesh] = networkPolicies({ ...home, mesh: { kind: 'pods', namespace: 'control' } })
  const mesh = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'control' } },
    podSelector: { matchLabels: { 'app.kubernetes.io/name': 'flotilla-mesh' } },
  }
  expect(toMesh?.spec).toMatchObject({ egress: [{ to: [mesh] }], ingress: [{ from: [mesh] }] })
  expect(JSON.stringify(toMesh)).not.toContain('ipBlock')
})

it('a network policy has two homes of one namespace meet nowhere', () => {
  const names = [home, { ...home, homeId: 'home-2' }].flatMap((one) =>
    networkPolicies(one).map(({ metadata }) => metadata.name),
  )
  expect(new Set(names).size).toBe(4)
})

it('a network policy asks the cluster to reject pods with more rights than an agent', () => {
  expect(agentNamespace('fleet').metadata).toMatchObject({
    name: 'fleet',
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
  })
})
