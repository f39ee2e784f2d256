import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { aSpec } from '../sandbox-runtime.conformance.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { clusterRecipe } from '../image/cluster-image.ts'
import { agentObjects, podFilesMaxBytes, probePod, type PodGround } from './agent-objects.ts'

const ground: PodGround = {
  homeId: 'home-1',
  namespace: 'fleet',
  image: 'registry.example/agent:1',
  meshAddress: '10.0.0.9',
  ownAddress: '10.0.0.9',
  seccomp: { kind: 'localhost', path: 'flotilla.json' },
  userNamespaces: true,
}
const given = {
  archive: Buffer.from('archive'),
  once: Buffer.from('token'),
  briefing: { 'PROJECT.md': 'what for' },
}
const spec = aSpec({ agentId: 'scout', briefingDirectory: '/briefing', dataLimitBytes: 1_000_000 })

const containersOf = (objects: ReturnType<typeof agentObjects>) => [
  ...objects.pod.spec.initContainers,
  ...objects.pod.spec.containers,
]

describe('agentObjects', () => {
  it('every container of the pod is isolated', () => {
    const objects = agentObjects(ground, spec, given)
    for (const container of containersOf(objects)) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        privileged: false,
        capabilities: { drop: ['ALL'] },
      })
    }
    expect(objects.pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostUsers: false,
      restartPolicy: 'Never',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.9'] },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        seccompProfile: { type: 'Localhost', localhostProfile: 'flotilla.json' },
      },
    })
  })

  it.each([
    ['worker', '150m', '402653184'],
    ['operator', '50m', '134217728'],
  ] as const)('agentObjects asks for what a %s may have, and allows no more', (kind, cpu, memory) => {
    const objects = agentObjects(ground, { ...spec, kind, ...sandboxSizes[kind] }, given)
    for (const { resources } of containersOf(objects)) {
      expect(resources.limits).toMatchObject({ cpu, memory })
      expect(resources.requests).toEqual(resources.limits)
    }
    expect(objects.pod.metadata.labels).toMatchObject({ 'flotilla.role': 'agent', 'flotilla.kind': kind })
  })

  describe('bounds the open files of the agent and all its programs, which no field of a pod does', () => {
    const command = agentObjects(ground, spec, given).pod.spec.containers[0]?.command ?? []
    const [, , script = ''] = command
    /** The limit of open files of a program after the shell has run `before`. */
    const bounded = (before: string) => {
      const program = ['sh', '-c', 'ulimit -Hn']
      return spawnSync('sh', ['-c', `${before}; ${script}`, 'sh', ...program], { encoding: 'utf8' })
    }

    it('agentObjects bounds the open files of the agent and all its programs by what starts its program', () => {
      expect([...command.slice(0, 2), ...command.slice(3, 5)]).toEqual([
        'sh',
        '-c',
        'sh',
        '/usr/local/bin/node',
      ])
    })

    it.each([
      ['ulimit -n 8193', '8192'],
      ['ulimit -n 8192', '8192'],
      // A node with a lower limit is no failure, and the limit is not raised.
      ['ulimit -n 1000', '1000'],
    ])(
      'agentObjects bounds the open files of the agent and all its programs where its node does %s',
      (before, allows) => {
        const { status, stdout, stderr } = bounded(before)
        expect([status, stdout.trim(), stderr]).toEqual([0, allows, ''])
      },
    )

    it('agentObjects starts nothing if the open files cannot be bounded, and says why', () => {
      const { status, stdout, stderr } = bounded('ulimit() { [ "$1" = -Hn ] && echo unlimited; }')
      expect([status, stdout]).toEqual([78, ''])
      expect(stderr).toContain('cannot be bounded')
    })
  })

  it('agentObjects leaves a pod only its claim and its one-time files to write to', () => {
    const { pod, claim } = agentObjects(ground, spec, given)
    const writable = pod.spec.containers.flatMap(({ volumeMounts }) =>
      volumeMounts.filter((mount) => !('readOnly' in mount)).map(({ mountPath }) => mountPath),
    )
    expect(writable).toEqual(['/data', '/once'])
    expect(pod.spec.volumes).toContainEqual({
      name: 'once',
      emptyDir: { medium: 'Memory', sizeLimit: '64Ki' },
    })
    expect(claim.spec.resources.requests.storage).toBe('1000000')
    expect(claim.spec).not.toHaveProperty('storageClassName')
    expect(agentObjects({ ...ground, storageClass: 'fast' }, spec, given).claim.spec.storageClassName).toBe(
      'fast',
    )
  })

  it('agentObjects stores the agent’s files in secrets that only the first container mounts', () => {
    const { files, briefing, pod } = agentObjects(ground, spec, given)
    expect(files.data).toEqual({
      'files.tar': Buffer.from('archive').toString('base64'),
      'once.tar': Buffer.from('token').toString('base64'),
    })
    expect(briefing.stringData).toEqual({ 'PROJECT.md': 'what for' })
    const seeing = [...pod.spec.initContainers, ...pod.spec.containers].filter(({ volumeMounts }) =>
      volumeMounts.some((mount) => mount.name === 'files'),
    )
    expect(seeing.map(({ name }) => name)).toEqual(['seed'])
  })

  it('agentObjects shows no variable of an agent to who may look at pods', () => {
    const asked = { ...spec, environment: { OPENAI_API_KEY: 'token-of-programs' } }
    const { environment, pod } = agentObjects(ground, asked, given)
    expect(environment.stringData).toMatchObject({
      OPENAI_API_KEY: 'token-of-programs',
      FLOTILLA_ONCE: '/once',
    })
    expect(JSON.stringify(pod)).not.toContain('token-of-programs')
    expect(pod.spec.containers[0]?.envFrom).toEqual([{ secretRef: { name: environment.metadata.name } }])
  })

  it('agentObjects refuses files that no cluster keeps', () => {
    const archive = new Uint8Array(podFilesMaxBytes + 1)
    expect(() => agentObjects(ground, spec, { ...given, archive })).toThrow(/Repair: shorten/)
    const briefing = { 'PROJECT.md': 'x'.repeat(podFilesMaxBytes + 1) }
    expect(() => agentObjects(ground, spec, { ...given, briefing })).toThrow(/Repair: shorten/)
    expect(agentObjects(ground, spec, { ...given, archive: archive.subarray(1) }).files).toBeDefined()
  })

  it('agentObjects names every object by a digest that ids which differ by a dash alone do not share, and notes the id', () => {
    const dash = agentObjects(ground, { ...spec, agentId: 'a-b' }, given)
    const line = agentObjects(ground, { ...spec, agentId: 'a_b' }, given)
    expect(dash.pod.metadata.name).not.toBe(line.pod.metadata.name)
    expect(dash.pod.metadata.annotations).toEqual({ 'flotilla.start': 's-1', 'flotilla.agent': 'a-b' })
    expect(dash.pod.metadata.name.length).toBeLessThanOrEqual(63)
  })

  it('agentObjects is scheduled only on tested nodes, once any node was tested', () => {
    const term = (node: string) => ({
      matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }],
    })
    const { pod } = agentObjects({ ...ground, triedNodes: ['one', 'two'] }, spec, given)
    expect(pod.spec).toMatchObject({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('one'), term('two')] },
        },
      },
    })
    expect(agentObjects(ground, spec, given).pod.spec).not.toHaveProperty('affinity')
  })

  it('agentObjects uses the runtime’s seccomp filter and another isolation level if set', () => {
    const { pod } = agentObjects(
      { ...ground, seccomp: { kind: 'runtime-default' }, userNamespaces: false, runtimeClass: 'gvisor' },
      spec,
      given,
    )
    expect(pod.spec.securityContext.seccompProfile).toEqual({ type: 'RuntimeDefault' })
    expect(pod.spec).toMatchObject({ hostUsers: true, runtimeClassName: 'gvisor' })
  })
})

describe('probePod', () => {
  it('probePod has an agent’s walls, on the node that is to be tried', () => {
    const probe = probePod(ground, { name: 'probe', node: 'node-2', command: ['true'], size: spec })
    const agent = agentObjects(ground, spec, given).pod
    const { nodeName, containers, securityContext, volumes, ...walls } = probe.spec
    expect(nodeName).toBe('node-2')
    expect(agent.spec).toMatchObject(walls)
    expect(agent.spec.securityContext).toMatchObject(securityContext)
    expect(agent.spec.volumes).toEqual(expect.arrayContaining(volumes))
    const [ofAgent] = agent.spec.containers
    expect(containers[0]?.securityContext).toEqual(ofAgent?.securityContext)
    expect(containers[0]?.command).toEqual([...(ofAgent?.command.slice(0, 4) ?? []), 'true'])
    expect(containers[0]?.resources.limits).toEqual(ofAgent?.resources.limits)
    // A node without free processor requests must still be tested.
    expect(new Set(Object.values(containers[0]?.resources.requests ?? {}))).toEqual(new Set(['0']))
    expect(probe.metadata.labels['flotilla.home']).toBe(agent.metadata.labels['flotilla.home'])
  })
})

describe('clusterRecipe', () => {
  it('clusterRecipe makes the image run as the agent', () => {
    expect(clusterRecipe('agent').trim().split('\n').at(-1)).toBe(
      `USER ${sandboxHardening.uid}:${sandboxHardening.uid}`,
    )
  })
})
