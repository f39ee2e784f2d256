import { readFileSync } from 'node:fs'
import process from 'node:process'
import * as z from 'zod'
import { tarArchive } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { seedEntries } from '../../packages/fleet/src/sandbox/hardening/seed-entries.ts'
import { agentObjects, type PodGround } from '../../packages/fleet/src/sandbox/kubernetes/agent-objects.ts'
import { subjectHands } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import type { SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { sandboxHardening, type SandboxSpec } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { patient } from '../support/patience.ts'
import { ApiRefusal, openApi, type Api } from './cluster/api.ts'
import { clusterPlaceSchema } from './cluster/start-cluster.ts'
import { until } from './cluster/until.ts'

const podMs = patient(30_000)
const containerSchema = z.looseObject({
  name: z.string(),
  state: z.looseObject({
    terminated: z.looseObject({ exitCode: z.number(), reason: z.string().optional() }).optional(),
  }),
})
const podSchema = z.looseObject({
  spec: z.looseObject({ nodeName: z.string().optional() }),
  status: z.looseObject({
    phase: z.string(),
    podIP: z.string().optional(),
    containerStatuses: z.array(containerSchema).default([]),
  }),
})

export type Pod = z.infer<typeof podSchema>

/** Reads where the cluster is that the current run started; this process is in the cluster's network. */
export function clusterOfThisRun() {
  const file = process.env['FLOTILLA_TEST_CLUSTER']
  if (file === undefined) throw new Error('there is no cluster here: run `npm run test:kubernetes`')
  const place = clusterPlaceSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  return { api: openApi(place.files), files: place.files, nodes: place.nodes, mesh: place.mesh }
}

const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`

export async function readPod(api: Api, namespace: string, name: string): Promise<Pod> {
  return podSchema.parse(await api.get(podPath(namespace, name)))
}

/** Resolves once the pod is in one of `phases`; otherwise rejects with its status and its events. */
export async function podReaches(
  api: Api,
  at: { readonly namespace: string; readonly name: string },
  phases: readonly string[],
): Promise<Pod> {
  let pod = await readPod(api, at.namespace, at.name)
  const events = `/api/v1/namespaces/${at.namespace}/events?fieldSelector=involvedObject.name=${at.name}`
  await until(
    async () => {
      pod = await readPod(api, at.namespace, at.name)
      return phases.includes(pod.status.phase) && pod.status.podIP !== undefined
    },
    podMs,
    `${at.name} is ${phases.join(' or ')}`,
  ).catch(async (cause: unknown) => {
    const json = JSON.stringify(await api.get(events).catch(() => null)).slice(-3_000)
    throw new Error(`${at.name} is ${JSON.stringify(pod.status)}; ${json}`, { cause })
  })
  return pod
}

/** Starts an agent that runs the conformance subject, from the same objects that the mesh creates. */
export async function startAgent(
  api: Api,
  ground: PodGround,
  spec: SandboxSpec,
): Promise<{ readonly name: string; readonly state: SandboxState; readonly pod: Pod }> {
  const packed = async (files: Readonly<Record<string, string>>) =>
    Buffer.concat(await Array.fromAsync(tarArchive(seedEntries(files))))
  const objects = agentObjects(ground, spec, {
    archive: await packed(spec.files),
    once: await packed({ 'door-token': 'token' }),
    briefing: { 'PROJECT.md': `of ${spec.agentId}` },
  })
  const { namespace, name } = objects.pod.metadata
  const of = (kind: string) => `/api/v1/namespaces/${namespace}/${kind}`
  await removePod(api, namespace, name)
  for (const secret of [objects.files, objects.briefing, objects.environment]) {
    await api.remove(`${of('secrets')}/${secret.metadata.name}`)
    await api.create(of('secrets'), secret)
  }
  await api.create(of('persistentvolumeclaims'), objects.claim).catch((error: unknown) => {
    // The claim outlives its pods.
    if (!(error instanceof Error && error.message.includes('already exists'))) throw error
  })
  await api.create(of('pods'), objects.pod)
  const pod = await podReaches(api, { namespace, name }, ['Running'])
  const state: SandboxState = {
    agentId: spec.agentId,
    running: true,
    labels: spec.labels,
    address: { host: pod.status.podIP ?? '', port: sandboxHardening.agentPort },
  }
  const answers = () => subjectHands.answers(state).then(() => true)
  await until(answers, podMs, `${name} answers`)
  return { name, state, pod }
}

const agentPodsSchema = z.looseObject({
  items: z.array(
    podSchema.extend({
      metadata: z.looseObject({
        name: z.string(),
        uid: z.string(),
        annotations: z.record(z.string(), z.string()).default({}),
      }),
    }),
  ),
})

/** Lists the agent and the address of each pod of a namespace. */
export async function podsOfAgents(api: Api, namespace: string) {
  const { items } = agentPodsSchema.parse(await api.get(`/api/v1/namespaces/${namespace}/pods`))
  return items.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    uid: metadata.uid,
    agent: metadata.annotations[labelKeys.agent],
    node: spec.nodeName,
    address: status.podIP,
  }))
}

/** Resolves when the pod is gone. */
export async function removePod(api: Api, namespace: string, name: string): Promise<void> {
  await api.remove(podPath(namespace, name), { gracePeriodSeconds: 1 })
  const isGone = () =>
    api.get(podPath(namespace, name)).then(
      () => false,
      (error: unknown) => error instanceof ApiRefusal && error.status === 404,
    )
  await until(isGone, podMs, `${name} is gone`)
}

export async function podLog(api: Api, namespace: string, name: string): Promise<string> {
  return z.string().parse(await api.get(`${podPath(namespace, name)}/log`))
}
