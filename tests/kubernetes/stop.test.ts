import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { probePod } from '../../packages/fleet/src/sandbox/kubernetes/agent-objects.ts'
import { sandboxSizes } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { homeTag, sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { deadPort } from '../support/dead-port.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh, type MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun, podReaches, podsOfAgents, readPod } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage, subjectImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'
import { keeperCassette } from './keeper.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** Tests `flotilla stop` after the mesh of a fleet in pods was killed. */
const { api, mesh: asMesh } = clusterOfThisRun()
const namespace = 'flotilla'
const environment = {
  KUBECONFIG: asMesh.kubeconfig,
  FLOTILLA_KUBERNETES_IMAGE: agentImage,
  FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
}
const podsPath = `/api/v1/namespaces/${namespace}/pods`
/** A pod of another fleet that shares the namespace. */
const stranger = 'flotilla-another-home'
const others = {
  homeId: 'another-home',
  namespace,
  image: subjectImage,
  seccomp: { kind: 'localhost', path: 'flotilla.json' },
  storageClass,
  meshAddress: fabric.address,
  ownAddress: fabric.address,
  userNamespaces: false,
} as const
const endedSchema = z.looseObject({ agents_ended: z.array(z.string()) })
const errorSchema = z.looseObject({ error: z.looseObject({ code: z.string(), repair: z.string() }) })

let mesh: MeshProcess
let folder: string
let homeId: string

beforeAll(async () => {
  await giveMeshRights()
  folder = await mkdtemp(join(tmpdir(), 'flotilla-stop-'))
  const settings = { data_limit_mb: 64 }
  mesh = await startMesh({
    runtime: 'kubernetes',
    cassettes: { talk: keeperCassette },
    settings,
    environment,
  })
  homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
  for (const id of ['keeper', 'other']) await mesh.createWorker(id)
  await mesh.ask('keep', { agent: 'keeper' })
  await mesh.invoke('other', 'run_command', { command: 'true' })
  const command = ['sleep', '1000000']
  await api.create(podsPath, probePod(others, { name: stranger, command, size: { ...sandboxSizes.worker } }))
  await podReaches(api, { namespace, name: stranger }, ['Running'])
  await mesh.kill9()
}, patient(300_000))
afterAll(async () => {
  await api.remove(`${podsPath}/${stranger}`, { gracePeriodSeconds: 0 })
  await mesh?.stop()
  await rm(folder, { recursive: true, force: true })
}, patient(120_000))

const phaseOf = async (pod: string) => (await readPod(api, namespace, pod)).status.phase

/** Runs `flotilla stop` with a kubeconfig that names `server` in place of the cluster. */
async function stopTowards(server: string) {
  const file = join(folder, 'elsewhere')
  const config = await readFile(asMesh.kubeconfig, 'utf8')
  await writeFile(file, config.replace(/https:\/\/[^"/\s]+/, `https://${server}`))
  const place = { home: mesh.home, environment: { ...environment, KUBECONFIG: file } }
  const { code, out } = await flotilla(place, 'stop', '--json')
  expect(code).not.toBe(0)
  return errorSchema.parse(JSON.parse(out)).error
}

it(
  'a cluster that refuses connections or never answers is a problem with its repair, and no pod is taken for ended',
  async () => {
    const deaf = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(deaf, 'listening')
    try {
      const { port } = deaf.address() as AddressInfo
      for (const server of [`127.0.0.1:${await deadPort()}`, `127.0.0.1:${port}`]) {
        const failed = await stopTowards(server)
        expect(failed).toMatchObject({ code: 'cluster-unreachable' })
        expect(failed.repair).toContain('kubectl get nodes')
      }
    } finally {
      deaf.close()
    }
    expect(await phaseOf(sandboxName(homeId, 'keeper'))).toBe('Running')
  },
  patient(120_000),
)

it(
  'agents that a crashed mesh left in pods are ended and keep their data, and pods of another fleet run on',
  async () => {
    const stopped = await flotilla({ home: mesh.home, environment }, 'stop', '--json')
    expect(stopped.code, stopped.out + stopped.err).toBe(0)
    const answer = endedSchema.parse(JSON.parse(stopped.out))
    expect(answer).toMatchObject({ stopped: false, agents_left: null })
    expect(answer.agents_ended).toEqual(expect.arrayContaining(['keeper', 'other']))
    const pods = await podsOfAgents(api, namespace)
    // Fleets of other tests use the namespace as well.
    for (const { name, agent } of pods.filter((pod) => pod.name.startsWith(`flotilla-${homeTag(homeId)}-`)))
      expect(['Succeeded', 'Failed'], agent).toContain(await phaseOf(name))
    expect(await phaseOf(stranger)).toBe('Running')
    const again = await flotilla({ home: mesh.home, environment }, 'stop', '--json')
    expect(JSON.parse(again.out)).toMatchObject({ stopped: false, agents_ended: [], agents_left: null })
    await mesh.restart()
    const kept = await mesh.invoke('keeper', 'run_command', { command: 'cat made/note' })
    expect(JSON.stringify(kept.outcome)).toContain('kept')
  },
  patient(300_000),
)
