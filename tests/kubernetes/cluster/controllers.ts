import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import type { Api } from './api.ts'
import type { ClusterNode } from './node.ts'
import { filterTable, policySchema } from './policy-rules.ts'
import { run } from './run.ts'

const pollEveryMs = 150
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

/** The storage class of the cluster, whose volumes every node reaches. */
export const storageClass = 'shared'

async function list<Item>(api: Api, path: string, schema: z.ZodType<Item>): Promise<readonly Item[]> {
  return itemsSchema.parse(await api.get(path)).items.map((item) => schema.parse(item))
}

/**
 * Enforces NetworkPolicies, as a network plugin does: the rules of each node follow what the API server has. No plugin
 * of others that does it could be had from the distribution or the registry that the rest comes from.
 */
export async function enforcePolicies(
  api: Api,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<void> {
  const inForce = new Map<string, string>()
  while (!signal.aborted) {
    const [pods, policies, namespaces] = await Promise.all([
      list(api, '/api/v1/pods', podSchema),
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
      const table = filterTable(harness, node.podRange)
      if (inForce.get(node.name) === table) continue
      await node.run('iptables-restore', ['--wait', '5'], table)
      inForce.set(node.name, table)
    }
    await delay(pollEveryMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Makes a volume for each claim: a file system of the size that was asked for, so that nothing can be written past it. */
export async function provisionVolumes(api: Api, folder: string, signal: AbortSignal): Promise<void> {
  const made = new Set<string>()
  while (!signal.aborted) {
    const claims = await list(api, '/api/v1/persistentvolumeclaims', claimSchema)
    for (const { metadata, spec, status } of claims) {
      if (spec.storageClassName !== storageClass || status.phase === 'Bound' || made.has(metadata.uid))
        continue
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
          storageClassName: storageClass,
          claimRef: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
          hostPath: { path: join(folder, name), type: 'Directory' },
        },
      })
    }
    await delay(pollEveryMs, undefined, { signal }).catch(() => undefined)
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
