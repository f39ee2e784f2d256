import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import * as z from 'zod'
import { meshCalls } from '../support/mesh-calls.ts'
import { sessionOf } from '../support/hosted-machine.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { until } from './cluster/until.ts'
import { apply, manifestsOf, type Manifest } from './mesh-rights.ts'

/** Namespace of the mesh in the manifests. */
export const ownNamespace = 'flotilla-mesh'
export const accessToken = 'the-access-token-of-this-test'
/** The model that the secret with the settings names. */
export const defaultModel = 'scripted/first-look'
/** Folder on this machine with the files of the current run's cluster. */
export const clusterFolder = dirname(process.env['FLOTILLA_TEST_CLUSTER'] ?? '')
export const meshPodPath = `/api/v1/namespaces/${ownNamespace}/pods/mesh-0`

const podSchema = z.looseObject({
  metadata: z.looseObject({ uid: z.string() }),
  spec: z.looseObject({ nodeName: z.string().optional() }),
  status: z.looseObject({
    phase: z.string().optional(),
    podIP: z.string().optional(),
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
  }),
})
export type MeshPod = z.infer<typeof podSchema>

/** Returns null if there is no mesh pod. */
export async function readMesh(): Promise<MeshPod | null> {
  const { api } = clusterOfThisRun()
  return api.get(meshPodPath).then(
    (found) => podSchema.parse(found),
    () => null,
  )
}

/** Waits for a ready mesh pod other than the pod `before`. */
export async function meshReady(before: string, boundMs: number): Promise<MeshPod> {
  const { api } = clusterOfThisRun()
  let seen: MeshPod | null = null
  const isReady = async () => {
    seen = await readMesh()
    const ready = seen?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    return ready === true && seen?.metadata.uid !== before
  }
  await until(isReady, boundMs, 'the mesh is ready').catch(async (cause: unknown) => {
    const log = await api.get(`${meshPodPath}/log?tailLines=40`).catch(String)
    const events = await api.get(`/api/v1/namespaces/${ownNamespace}/events`)
    throw new Error(`${JSON.stringify(seen)}\n${String(log)}\n${JSON.stringify(events).slice(-3_000)}`, {
      cause,
    })
  })
  if (seen === null) throw new Error('a pod that is ready was seen')
  return seen
}

/** Calls the people's API as the owner, from outside of the pod. */
export const ownerOf = (pod: () => MeshPod) =>
  meshCalls(() => `http://${pod().status.podIP ?? ''}:8422`, {
    cookie: `ol_session=${sessionOf(accessToken, 7_200)}`,
  })

/** Creates the secrets that an owner creates before the installation, and the namespaces for them. */
export async function giveSecrets(manifests: readonly Manifest[]): Promise<void> {
  await apply(manifests.filter(({ kind }) => kind === 'Namespace'))
  const secret = (name: string, stringData: object) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: ownNamespace },
    stringData,
  })
  await apply([
    secret('fleet-access', { token: accessToken }),
    secret('fleet-environment', { FLOTILLA_DEFAULT_MODEL: defaultModel }),
  ])
}

/** Installs the unchanged manifests; a mesh that exists is kept. */
export async function installMesh(): Promise<MeshPod> {
  const { nodes } = clusterOfThisRun()
  const isThere = (await readMesh()) !== null
  if (!isThere)
    for (const { name } of nodes)
      await rm(join(clusterFolder, name, 'kubelet', 'seccomp', 'flotilla.json'), { force: true })
  const manifests = await manifestsOf('deploy', 'kubernetes', 'flotilla.yaml')
  await giveSecrets(manifests)
  await apply(manifests)
  return meshReady('', patient(120_000))
}
