import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { createKubernetesRuntime } from '../../packages/fleet/src/sandbox/kubernetes/kubernetes-runtime.ts'
import { connectCluster } from '../../packages/fleet/src/sandbox/kubernetes/connect-cluster.ts'
import { probePod } from '../../packages/fleet/src/sandbox/kubernetes/agent-objects.ts'
import { agentNamespace } from '../../packages/fleet/src/sandbox/kubernetes/network-policies.ts'
import { runInPod } from '../../packages/fleet/src/sandbox/kubernetes/pod-data.ts'
import {
  aSpec,
  sandboxRuntimeConformance,
  subjectHands,
} from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { sandboxSizes } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { subjectImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'

const { api, nodes } = clusterOfThisRun()
const meshPort = 8420

function optionsOf(name: string) {
  return {
    homeId: `${name}-${process.pid}`,
    namespace: `runtime-${name}`,
    kubeconfig: process.env['KUBECONFIG'],
    image: subjectImage,
    meshAddress: fabric.address,
    seccomp: { kind: 'localhost', path: 'flotilla.json' },
    storageClass,
    meshPorts: [meshPort, 8421],
    clock: systemClock,
    log: silentLog,
  } as const
}

async function open(name: string) {
  const runtime = createKubernetesRuntime(optionsOf(name))
  await runtime.prepare({ progress: () => {} })
  return runtime
}

/**
 * Reads the CPU quota and scales it to the period of the spec; nodes use a period of their own, with the same
 * share.
 */
async function shareOf(agentId: string) {
  const options = optionsOf('conformance')
  const place = {
    namespace: options.namespace,
    pod: sandboxName(options.homeId, agentId),
    container: 'agent',
  }
  const group = '/sys/fs/cgroup'
  const command = `cat ${group}/cpu.max 2>/dev/null || cat ${group}/cpu/cpu.cfs_quota_us ${group}/cpu/cpu.cfs_period_us`
  const { stdout } = await runInPod(await connectCluster(options), place, ['sh', '-c', command])
  const [quotaUs = 0, periodUs = 0] = stdout.trim().split(/\s+/).map(Number)
  const asked = sandboxSizes.worker.cpu
  return { quotaUs: Math.round((quotaUs / periodUs) * asked.periodUs), periodUs: asked.periodUs }
}

sandboxRuntimeConformance('kubernetes', async () => {
  const runtime = await open('conformance')
  return {
    runtime,
    again: () => open('conformance'),
    ...subjectHands,
    shareOf,
    freezes: false,
    close: async () => {
      await runtime.erase({ progress: () => {} })
      await runtime.close()
    },
  }
})

it('the walls of every node are tested, and unenforced ones are reported', async () => {
  const listener = createServer((socket) => socket.on('error', () => undefined).end())
  listener.listen(meshPort, fabric.address)
  await once(listener, 'listening')
  const runtime = await open('walls')
  const briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-briefing-'))
  onTestFinished(async () => {
    await runtime.close()
    listener.close()
    await rm(briefingDirectory, { recursive: true })
  })
  const walls = await runtime.checkIsolation({ meshPort })
  expect(walls.filter(({ holds }) => !holds)).toEqual([])
  expect(walls.length).toBeGreaterThan(10)
  for (const { name } of nodes) expect(walls.every(({ detail }) => detail.includes(`${name}: `))).toBe(true)
  const { namespace, homeId } = optionsOf('walls')
  // A pod is placed only on nodes whose isolation was checked, so a node that joins later has no agents before
  // that.
  await runtime.start(aSpec({ agentId: 'placed', briefingDirectory }))
  const pod = await api.get(`/api/v1/namespaces/${namespace}/pods/${sandboxName(homeId, 'placed')}`)
  for (const { name } of nodes) expect(JSON.stringify(pod)).toContain(`"values":["${name}"]`)
  await runtime.remove('placed', { data: true })
  await api.remove(`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`)
  const open_ = await runtime.checkIsolation({ meshPort })
  const fallen = open_.filter(({ holds }) => !holds).map(({ id }) => id)
  expect(fallen).toEqual(expect.arrayContaining(['host-ports-closed', 'other-sandboxes-closed']))
})

it('a lack of memory is reported as such, and an erased home leaves nothing', async () => {
  const runtime = await open('memory')
  const briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-briefing-'))
  onTestFinished(async () => {
    await runtime.close()
    await rm(briefingDirectory, { recursive: true })
  })
  const ends: unknown[] = []
  runtime.onEnd((end) => ends.push(end))
  const state = await runtime.start(aSpec({ agentId: 'eater', briefingDirectory }))
  await subjectHands.answers(state)
  await subjectHands.eatMemory(state)
  const end = { agentId: 'eater', code: 137, outOfMemory: true }
  await expect.poll(() => ends, { timeout: patient(20_000) }).toEqual([end])
  await runtime.erase({ progress: () => {} })
  const { namespace } = optionsOf('memory')
  const of = sandboxName(optionsOf('memory').homeId, 'eater')
  const left = async () => {
    const kinds = ['pods', 'persistentvolumeclaims', 'secrets']
    const lists = kinds.map((kind) => api.get(`/api/v1/namespaces/${namespace}/${kind}`))
    return JSON.stringify(await Promise.all(lists))
  }
  // Kubernetes deletes a claim only after the node of its pod has released it.
  await expect.poll(left, { timeout: patient(20_000) }).not.toContain(of)
})

it('the Kubernetes runtime says what is wrong with a way to a cluster', async () => {
  const options = optionsOf('unknown')
  const at = (address: object) =>
    createKubernetesRuntime({ ...options, ...address }).prepare({ progress: () => {} })
  await expect(at({ context: 'elsewhere' })).rejects.toThrow(
    /no context elsewhere[^]*its contexts: test[^]*Repair/,
  )
  await expect(at({ kubeconfig: '/nowhere' })).rejects.toThrow(/cannot be read[^]*Repair/)
  await expect(at({ kubeconfig: undefined })).rejects.toThrow(/no kubeconfig[^]*Repair/)
  await expect(at({ namespace: 'default' })).rejects.toMatchObject({ id: 'namespace-not-restricted' })
  for (const meshAddress of ['127.0.0.1', fabric.metadata.replace('254', '253')])
    await expect(at({ meshAddress })).rejects.toMatchObject({ id: 'cluster-no-address' })
})

it('the Kubernetes runtime refuses a way to a cluster that proves nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-kubeconfig-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const sound = await readFile(process.env['KUBECONFIG'] ?? '', 'utf8')
  const secure = 'https://'
  for (const text of [
    sound.replace(secure, 'http://'),
    sound.replace('"cluster":{"server"', '"cluster":{"insecure-skip-tls-verify":true,"server"'),
  ]) {
    expect(text).not.toBe(sound)
    const kubeconfig = join(folder, 'config')
    await writeFile(kubeconfig, text)
    const options = { ...optionsOf('insecure'), kubeconfig }
    const prepared = createKubernetesRuntime(options).prepare({ progress: () => {} })
    await expect(prepared).rejects.toMatchObject({ id: 'cluster-insecure' })
  }
})

it('the Kubernetes runtime leaves a namespace alone in which others live', async () => {
  const { namespace } = optionsOf('shared')
  await api.create('/api/v1/namespaces', agentNamespace(namespace))
  const walled = probePod(
    { ...optionsOf('shared'), ownAddress: fabric.address, userNamespaces: false },
    { name: 'other', command: ['true'], size: { ...sandboxSizes.worker } },
  )
  const { labels: _ours, ...metadata } = walled.metadata
  await api.create(`/api/v1/namespaces/${namespace}/pods`, { ...walled, metadata })
  await expect(open('shared')).rejects.toMatchObject({ id: 'namespace-shared' })
  const policies = await api.get(`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`)
  expect(policies).toMatchObject({ items: [] })
})

it('nodes without the image or the profile are reported at once, with the repair', async () => {
  const lacking = (given: object) =>
    createKubernetesRuntime({ ...optionsOf('lacking'), ...given }).prepare({ progress: () => {} })
  const repair = /Repair: bring the image[^]*flotilla image FILE/
  await expect(lacking({ image: 'flotilla.local/agent:absent' })).rejects.toThrow(repair)
  const seccomp = { kind: 'localhost', path: 'absent.json' } as const
  await expect(lacking({ seccomp })).rejects.toThrow(/absent\.json[^]*Repair: [^]*runtime-default/)
})
