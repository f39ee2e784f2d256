import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import { trialInfix } from '../../../packages/fleet/src/sandbox/kubernetes/try-claims.ts'
import type { Api } from './api.ts'
import type { ClusterNode } from './node.ts'
import { filterTable, policySchema } from './policy-rules.ts'
import { run } from './run.ts'

const pollEveryMs = 150
/** The pause after each look, as a multiple of the look's duration, so that large clusters are read less often. */
const restShare = 4
const itemsSchema = z.looseObject({ items: z.array(z.unknown()) })
const metadataSchema = z.looseObject({
  name: z.string(),
  namespace: z.string().default(''),
  uid: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
})
const podSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({ hostNetwork: z.boolean().default(false) }),
  status: z.looseObject({ phase: z.string().optional(), podIP: z.string().optional() }).default({}),
})
const claimSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    storageClassName: z.string().optional(),
    accessModes: z.array(z.string()),
    resources: z.looseObject({ requests: z.looseObject({ storage: z.string() }) }),
  }),
  status: z.looseObject({ phase: z.string().optional() }).default({}),
})

/** Storage class of the cluster, whose volumes every node can mount. */
export const storageClass = 'shared'
/**
 * Storage class of pods on simulated nodes. `cluster-scale.ts` creates their volumes, except for those of trial
 * pods, which run on real nodes.
 */
export const hollowClass = 'hollow'

async function list<Item>(api: Api, path: string, schema: z.ZodType<Item>): Promise<readonly Item[]> {
  return itemsSchema.parse(await api.get(path)).items.map((item) => schema.parse(item))
}

/**
 * Enforces NetworkPolicies as a network plugin does: the rules of each node follow the API server. No network
 * plugin that enforces policies is available from the distribution or from the registry of the other programs.
 */
export async function enforcePolicies(
  api: Api,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<void> {
  const inForce = new Map<string, string>()
  while (!signal.aborted) {
    const startedAt = performance.now()
    const [pods, policies, namespaces] = await Promise.all([
      // Pods of simulated nodes send nothing.
      Promise.all(nodes.map(({ name }) => list(api, podsOf(name), podSchema))).then((all) => all.flat()),
      list(api, '/apis/networking.k8s.io/v1/networkpolicies', policySchema),
      list(api, '/api/v1/namespaces', z.looseObject({ metadata: metadataSchema })),
    ])
    const harness = {
      policies,
      namespaces: new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels])),
      pods: pods.flatMap(({ metadata, spec, status }) =>
        status.podIP === undefined ||
        spec.hostNetwork ||
        status.phase === 'Failed' ||
        status.phase === 'Succeeded'
          ? []
          : [{ namespace: metadata.namespace, labels: metadata.labels, address: status.podIP }],
      ),
    }
    for (const node of nodes) {
      const startCount = node.startCount()
      if (startCount === null) continue
      // A node that was restarted has no rules.
      const table = filterTable(harness, node.podRange)
      if (inForce.get(node.name) === `${startCount} ${table}`) continue
      await node.run('iptables-restore', ['--wait', '5'], table).catch((error: unknown) => {
        if (node.startCount() === startCount) throw error
      })
      inForce.set(node.name, `${startCount} ${table}`)
    }
    await rest(startedAt, signal)
  }
}

const podsOf = (node: string): string => `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`

async function rest(startedAt: number, signal: AbortSignal): Promise<void> {
  const ms = Math.max(pollEveryMs, (performance.now() - startedAt) * restShare)
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/**
 * Creates a volume for each claim: a file system of the requested size, so that more than that cannot be written.
 */
export async function provisionVolumes(api: Api, folder: string, signal: AbortSignal): Promise<void> {
  const made = new Set<string>()
  while (!signal.aborted) {
    const startedAt = performance.now()
    const claims = await list(api, '/api/v1/persistentvolumeclaims', claimSchema)
    for (const { metadata, spec, status } of claims) {
      const isReal =
        spec.storageClassName === storageClass ||
        (spec.storageClassName === hollowClass && metadata.name.includes(trialInfix))
      if (!isReal || status.phase === 'Bound' || made.has(metadata.uid)) continue
      made.add(metadata.uid)
      const name = `volume-${metadata.uid}`
      await makeVolume(join(folder, name), spec.resources.requests.storage)
      await api.create('/api/v1/persistentvolumes', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          capacity: { storage: spec.resources.requests.storage },
          accessModes: spec.accessModes,
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: spec.storageClassName,
          claimRef: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
          hostPath: { path: join(folder, name), type: 'Directory' },
        },
      })
    }
    await rest(startedAt, signal)
  }
}

async function makeVolume(path: string, size: string): Promise<void> {
  const file = `${path}.ext4`
  await mkdir(path)
  await run('truncate', ['--size', size.replace(/i$/, ''), file])
  await run('mkfs.ext4', ['-q', '-m', '0', '-E', 'root_owner=1000:1000,lazy_itable_init=1', file])
  await run('mount', ['-o', 'loop,nosuid,nodev', file, path])
  await run('rmdir', [join(path, 'lost+found')])
}
