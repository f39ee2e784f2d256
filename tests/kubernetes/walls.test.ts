import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCanary, reaches } from '../../packages/fleet/src/sandbox/hardening/canary.ts'
import {
  containerWalls,
  networkWalls,
  openFilesWall,
  probeReportSchema,
  type Controls,
  type ProbeReport,
} from '../../packages/fleet/src/sandbox/hardening/isolation-report.ts'
import { probePod, type PodGround } from '../../packages/fleet/src/sandbox/kubernetes/agent-objects.ts'
import {
  agentNamespace,
  networkPolicies,
} from '../../packages/fleet/src/sandbox/kubernetes/network-policies.ts'
import { aSpec, subjectHands } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import type { SandboxSpec } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { storageClass } from './cluster/controllers.ts'
import { subjectImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'
import { clusterOfThisRun, podLog, podReaches, readPod, removePod, startAgent } from './cluster-lane.ts'
import { until } from './cluster/until.ts'

const { api, nodes } = clusterOfThisRun()
const ground: PodGround = {
  homeId: 'cluster-walls',
  namespace: 'fleet',
  image: subjectImage,
  meshAddress: fabric.address,
  ownAddress: fabric.address,
  seccomp: { kind: 'localhost', path: 'flotilla.json' },
  userNamespaces: false,
  storageClass,
}
const probeSize = { memoryLimitBytes: 384 * 1024 * 1024, cpu: { quotaUs: 50_000, periodUs: 100_000 } }
const meshPort = 8420

const spec = (fields: Partial<SandboxSpec> & { readonly agentId: string }): SandboxSpec =>
  aSpec({ briefingDirectory: '/nowhere', environment: { FLOTILLA_AGENT_ID: fields.agentId }, ...fields })

const listeners: Server[] = []
async function listen(host: string, port: number): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end()
  })
  listeners.push(server)
  server.listen(port, host)
  await once(server, 'listening')
}

let canary: Awaited<ReturnType<typeof openCanary>>
let neighbor: Awaited<ReturnType<typeof startAgent>>

beforeAll(async () => {
  canary = await openCanary()
  await listen(fabric.address, meshPort)
  await listen(fabric.metadata, 80)
  await api.create('/api/v1/namespaces', agentNamespace('fleet'))
  await api.create('/api/v1/namespaces', agentNamespace('without-policies'))
  const policies = networkPolicies({
    ...ground,
    mesh: { kind: 'address', address: ground.meshAddress },
    meshPorts: [meshPort, 8421],
  })
  for (const policy of policies) {
    await api.create('/apis/networking.k8s.io/v1/namespaces/fleet/networkpolicies', policy)
  }
  await until(
    async () => (await api.get('/api/v1/namespaces/fleet/serviceaccounts/default')) !== null,
    60_000,
    'pods can be made',
  )
  neighbor = await startAgent(api, ground, spec({ agentId: 'neighbor' }))
})

afterAll(async () => {
  for (const server of listeners) server.close()
  await canary?.close()
})

const allWalls = (report: ProbeReport, controls: Controls) => [
  ...networkWalls(report, controls, 'agents'),
  ...containerWalls(report, 'shared'),
  openFilesWall(report),
]

/** Everything that an agent must not reach, and the agent API, which it must reach. */
function targets() {
  const at = (group: string, host: string, port: number) => ({ group, host, port })
  return [
    at('mesh', fabric.address, meshPort),
    at('host', fabric.address, canary.port),
    at('host', fabric.address, fabric.apiPort),
    ...nodes.map(({ address }) => at('host', address, 10_250)),
    at('sibling', neighbor.state.address?.host ?? '', 8400),
    at('internet', fabric.internet, canary.port),
    at('metadata', fabric.metadata, 80),
  ]
}

/**
 * The rules of a pod come into force a little after its start. Until the agent API is reachable nothing is, so the
 * probe waits for it.
 */
const probeOnceMeshAnswers = `
const attempt = () => {
  const socket = require('node:net').connect(${meshPort}, '${fabric.address}')
  const again = () => { socket.destroy(); setTimeout(attempt, 100) }
  socket.setTimeout(500, again)
  socket.on('error', again)
  socket.on('connect', () => { socket.destroy(); require('/opt/flotilla/probe-walls.cjs') })
}
attempt()`

async function probe(namespace: string, node: string) {
  const name = `probe-${node}`
  const plan = JSON.stringify({ connect: targets(), names: ['example.com'] })
  const command = ['node', '--eval', probeOnceMeshAnswers, 'probe', plan]
  await api.create(
    `/api/v1/namespaces/${namespace}/pods`,
    probePod({ ...ground, namespace }, { name, node, command, size: probeSize }),
  )
  const pod = await podReaches(api, { namespace, name }, ['Succeeded', 'Failed'])
  const log = await podLog(api, namespace, name)
  expect(pod.status.phase, log).toBe('Succeeded')
  return probeReportSchema.parse(JSON.parse(log))
}

describe('walls around pods', () => {
  it('a policy is the only barrier between a pod and forbidden destinations', async () => {
    const { attempts } = await probe('without-policies', nodes[0]?.name ?? '')
    const reached = attempts.filter(({ group }) => group !== 'sibling' && group !== 'names')
    expect(reached.map(({ target, outcome }) => `${target} ${outcome}`)).toEqual(
      reached.map(({ target }) => `${target} connected`),
    )
  })

  it.each(nodes.map(({ name }) => name))('walls around pods hold on %s', async (node) => {
    const shown = await Promise.all(targets().map(({ host, port }) => reaches(host, port)))
    const reachedFromHost = targets()
      .filter((_, index) => shown[index])
      .map(({ host, port }) => `${host}:${port}`)
    expect(reachedFromHost).toHaveLength(targets().length)
    const walls = allWalls(await probe('fleet', node), { reachedFromHost })
    expect(walls.filter(({ holds }) => !holds)).toEqual([])
  })
})

describe('the pod of an agent', () => {
  const run = async (command: string) => (await subjectHands.run(neighbor.state, command)).text.trim()

  it('the pod of an agent has the limits of its kind, and no way to the API server', async () => {
    const limit = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null'
    expect(await run(limit)).toBe(String(384 * 1024 * 1024))
    const quota = 'cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null'
    expect(await run(quota)).toMatch(/^15000\b/)
    expect(await run('ls /var/run/secrets /run/secrets 2>&1 | grep -v "No such file"')).toBe('')
  })

  it('the pod of an agent has a /tmp that is bounded and runs nothing', async () => {
    expect(await run('cp /bin/true /tmp/true && /tmp/true; echo $?')).toMatch(/126$/)
    expect(await run('/lib64/ld-linux-x86-64.so.2 /tmp/true; echo $?')).toMatch(/failed to map[^]*127$/)
    expect(await run('head -c 200000000 /dev/zero > /tmp/full; stat -c %s /tmp/full; rm /tmp/full')).toMatch(
      /No space left[^]*\b6[67]\d{6}$/,
    )
  })

  it('the pod of an agent keeps its data, bounded, when another pod comes after it, and finds its files there', async () => {
    const first = await startAgent(api, ground, spec({ agentId: 'keeper', files: { 'deep/token': 't-1' } }))
    expect(await subjectHands.readFile(first.state, 'deep/token')).toBe('t-1')
    await subjectHands.writeFile(first.state, 'kept', 'yes')
    const full = await subjectHands.run(
      first.state,
      'head -c 100000000 /dev/zero > /data/full; rm /data/full; stat -c "%a %u" /data/deep/token; cat /briefing/PROJECT.md',
    )
    expect(full.text).toMatch(/No space left[^]*\n600 1000\nof keeper$/)
    const second = await startAgent(api, ground, spec({ agentId: 'keeper', files: { 'deep/token': 't-2' } }))
    expect(await subjectHands.readFile(second.state, 'deep/token')).toBe('t-2')
    expect(await subjectHands.readFile(second.state, 'kept')).toBe('yes')
  })

  it('the pod of an agent is ended by name where it takes more memory than it has', async () => {
    const eater = await startAgent(api, ground, spec({ agentId: 'eater' }))
    await subjectHands.eatMemory(eater.state)
    await podReaches(api, { namespace: 'fleet', name: eater.name }, ['Failed'])
    const { status } = await readPod(api, 'fleet', eater.name)
    expect(status.containerStatuses.map(({ state }) => state.terminated?.reason)).toEqual(['OOMKilled'])
  })

  it('the pod of an agent can be nothing more in its namespace: the cluster refuses it', async () => {
    const pod = probePod(ground, {
      name: 'more',
      node: nodes[0]?.name ?? '',
      command: ['true'],
      size: probeSize,
    })
    const [container] = pod.spec.containers
    const more = { ...container, securityContext: { privileged: true } }
    await expect(
      api.create('/api/v1/namespaces/fleet/pods', { ...pod, spec: { ...pod.spec, containers: [more] } }),
    ).rejects.toThrow(/violates PodSecurity/)
    await removePod(api, 'fleet', 'more')
  })
})
