import { describe, expect, it } from 'vitest'
import { joinedWalls } from './check-cluster.ts'
import { agentNodes, clusterNetworks } from './cluster-nodes.ts'
import { dataUseOf } from './measure-claims.ts'
import { useOfGroup } from './measure-pods.ts'
import { exitCodeOf } from './open-exec.ts'
import { bytesOf } from './try-claims.ts'

const ready = { type: 'Ready', status: 'True' }
const aNode = (name: string, spec: object = {}, status: object = {}) => ({
  metadata: { name },
  spec,
  status: { conditions: [ready], addresses: [{ type: 'InternalIP', address: '10.0.0.2' }], ...status },
})

describe('nodes for agents', () => {
  it('nodes for agents are those that are ready, open and free of taints that keep pods away', () => {
    const away = { effect: 'NoSchedule', key: 'control-plane' }
    const nodes = agentNodes([
      aNode('plain'),
      aNode('preferred-less', { taints: [{ ...away, effect: 'PreferNoSchedule' }] }),
      aNode('cordoned', { unschedulable: true }),
      aNode('tainted', { taints: [away] }),
      aNode('lost', {}, { conditions: [{ type: 'Ready', status: 'Unknown' }] }),
    ])
    expect(nodes.map(({ name }) => name)).toEqual(['plain', 'preferred-less'])
  })

  it('nodes for agents can give user namespaces where the runtime that is used unasked can', () => {
    const handlers = (name: string, userNamespaces: boolean) => ({
      runtimeHandlers: [{ name, features: { userNamespaces } }],
    })
    const nodes = [handlers('', true), handlers('', false), handlers('other', true), {}]
    expect(
      agentNodes(nodes.map((status) => aNode('n', {}, status))).map((node) => node.userNamespaces),
    ).toEqual([true, false, false, false])
  })

  it('nodes for agents list the blocked networks and mark the agents’ own', () => {
    const host = { address: '10.0.0.2', prefix: 32, own: false }
    const nodes = agentNodes([aNode('n', { podCIDRs: ['10.1.2.0/24'] })])
    const outside = { meshAddress: '10.0.0.9', ownAddress: '10.0.0.9' }
    expect(clusterNetworks(nodes, outside)).toEqual([
      { address: '10.1.2.0', prefix: 24, own: true },
      { address: '10.0.0.9', prefix: 32, own: false },
      host,
    ])
    const inside = { meshAddress: '10.2.0.5', ownAddress: '10.1.2.7' }
    expect(clusterNetworks(nodes, inside).map(({ address }) => address)).toEqual([
      '10.1.2.0',
      '10.2.0.5',
      '10.1.2.7',
      '10.0.0.2',
    ])
    const other = { meshAddress: 'fd00::9', ownAddress: 'fd00::9' }
    expect(clusterNetworks(agentNodes([aNode('n')]), other)).toEqual([
      { address: 'fd00::9', prefix: 128, own: true },
      host,
    ])
  })
})

describe('the resource use of a pod', () => {
  const group = (name: string, text: string) => `== /sys/fs/cgroup/${name}\n${text}\n`

  it('the resource use of a pod is read from cgroups of either version, without reclaimable memory', () => {
    const one =
      group('memory/memory.usage_in_bytes', '500') +
      group('memory/memory.limit_in_bytes', '900') +
      group('memory/memory.stat', 'cache 9\ntotal_inactive_file 100') +
      group('cpuacct/cpuacct.usage', '2500000000')
    const two =
      group('memory.current', '500') +
      group('memory.max', '900') +
      group('memory.stat', 'anon 9\ninactive_file 100') +
      group('cpu.stat', 'usage_usec 2500000\nuser_usec 9')
    const use = { memoryBytes: 400, memoryLimitBytes: 900, cpuSeconds: 2.5 }
    expect([useOfGroup(one), useOfGroup(two)]).toEqual([use, use])
    expect(useOfGroup(two.replace('900', 'max'))?.memoryLimitBytes).toBeNull()
    expect(useOfGroup('')).toBeNull()
  })

  it('the resource use of a pod on disk is one line that marks a truncated count', () => {
    expect(dataUseOf('4096 3 0\n')).toEqual({ bytes: 4096, files: 3, complete: true })
    expect(dataUseOf('4096 3 124\n')?.complete).toBe(false)
    expect(dataUseOf('sh: awk: not found')).toBeNull()
  })
})

describe('words of the cluster', () => {
  it('words of the cluster parse sizes with Kubernetes units', () => {
    expect(['64', '1Gi', '1.5G', '10x', ''].map(bytesOf)).toEqual([64, 2 ** 30, 1.5e9, null, null])
  })

  it('a status message of the cluster gives the exit code of a program', () => {
    const causes = [{ reason: 'ExitCode', message: '7' }]
    expect(exitCodeOf({ status: 'Success' })).toBe(0)
    expect(exitCodeOf({ status: 'Failure', details: { causes } })).toBe(7)
    expect(() => exitCodeOf({ status: 'Failure', message: 'no container' })).toThrow(/no container[^]*Repair/)
  })
})

it('a wall that falls on one node falls, and that node is named', () => {
  const wall = (node: string, holds: boolean) => ({ id: 'internet-closed', holds, detail: `${node}: tried` })
  expect(joinedWalls([[wall('one', true)], [wall('two', false)]])).toEqual([
    { id: 'internet-closed', holds: false, detail: 'two: tried' },
  ])
  expect(joinedWalls([[wall('one', true)], [wall('two', true)]])).toEqual([
    { id: 'internet-closed', holds: true, detail: 'one: tried; two: tried' },
  ])
})
