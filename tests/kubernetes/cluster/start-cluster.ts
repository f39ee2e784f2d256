import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import * as z from 'zod'
import type { Api } from './api.ts'
import { kubeconfig, openAuthority, type KeyPair } from './certificates.ts'
import { startControlPlane } from './control-plane.ts'
import { enforcePolicies, provisionVolumes, storageClass } from './controllers.ts'
import { fabric, nodeCount } from './layout.ts'
import { startNode, type ClusterNode, type NodeOptions } from './node.ts'
import type { Programs } from './programs.ts'
import { run } from './run.ts'
import { until } from './until.ts'

/** User of a mesh that has only the rights it needs. */
export const meshUser = 'flotilla-mesh'
const readyMs = 240_000
/** Sooner than the default of Kubernetes, 50 s. */
const missedAfterSeconds = 20
const hierarchies = '/sys/fs/cgroup'
const nodesSchema = z.looseObject({
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ name: z.string() }),
      status: z.looseObject({
        conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
})

/** Starts everything in the namespaces whose first process this is; when it ends, everything ends. */
export async function startCluster(
  programs: Programs,
  options: {
    readonly folder: string
    /** Called with a description of each failure. */
    readonly tell: (words: string) => void
    readonly controlGroup: string
    readonly images: readonly string[]
    /** Seconds after which a silent node counts as lost. */
    readonly missedAfterSeconds?: number
    readonly seccompProfile: NodeOptions['seccompProfile']
  },
) {
  const { folder } = options
  const at = (name: string) => join(folder, name)
  let stopping = false
  const onEnd = (program: string, code: number | null) => {
    if (!stopping) options.tell(`${program} ended with ${code}; its log lies in ${folder}`)
  }
  await layFabric()
  for (const name of ['keys', 'control', 'volumes']) await mkdir(at(name))
  await run('mount', ['--bind', at('volumes'), at('volumes')])
  await run('mount', ['--make-shared', at('volumes')])
  const authority = await openAuthority(at('keys'))
  const control = await startControlPlane(programs, {
    folder: at('control'),
    authority,
    missedAfterSeconds: options.missedAfterSeconds ?? missedAfterSeconds,
    onEnd,
  })
  const { api } = control
  const places = Array.from({ length: nodeCount }, (_, index) => index + 1)
  const nodes = await Promise.all(
    places.map(async (index) => {
      await makeControlGroups(join(options.controlGroup, `node-${index}`))
      return startNode(programs, {
        ...options,
        index,
        folder: at(`node-${index}`),
        volumes: at('volumes'),
        authority,
        servicesKubeconfig: control.kubeconfigFile,
        onEnd,
      })
    }),
  )
  await until(async () => (await readyNodes(api)).length === nodeCount, readyMs, 'all nodes are ready')
  await api.create('/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: storageClass, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'flotilla.test/volumes',
  })
  const ending = new AbortController()
  const controllers = Promise.all([
    enforcePolicies(api, nodes, ending.signal),
    provisionVolumes(api, at('volumes'), ending.signal),
  ])
  controllers.catch((error: unknown) => {
    options.tell(`policies and volumes are no longer taken care of: ${String(error)}`)
    process.exit(1)
  })
  const keys = await authority.user(meshUser)
  await writeFile(at('mesh-kubeconfig.json'), kubeconfig(authority, keys))
  const placeFile = at('place.json')
  const mesh = { kubeconfig: at('mesh-kubeconfig.json'), keys }
  await writeFile(placeFile, JSON.stringify(placeOf(at('keys'), nodes, mesh)))
  return {
    api,
    nodes,
    placeFile,
    volumes: at('volumes'),
    meshKubeconfig: at('mesh-kubeconfig.json'),
    haltControl: control.halt,
    kubeconfigFile: control.kubeconfigFile,
    async stop() {
      stopping = true
      ending.abort()
      await controllers
    },
  }
}

const filesSchema = z.strictObject({ authority: z.string(), certificate: z.string(), key: z.string() })

/** The description of the cluster that tests read from a file. */
export const clusterPlaceSchema = z.strictObject({
  files: filesSchema,
  mesh: z.strictObject({ kubeconfig: z.string(), files: filesSchema }),
  nodes: z.array(z.strictObject({ name: z.string(), address: z.string() })),
})

function placeOf(
  keys: string,
  nodes: readonly ClusterNode[],
  mesh: { readonly kubeconfig: string; readonly keys: KeyPair },
): z.infer<typeof clusterPlaceSchema> {
  return {
    mesh: { kubeconfig: mesh.kubeconfig, files: { authority: join(keys, 'ca.crt'), ...mesh.keys } },
    files: {
      authority: join(keys, 'ca.crt'),
      certificate: join(keys, 'admin.crt'),
      key: join(keys, 'admin.key'),
    },
    nodes: nodes.map(({ name, address }) => ({ name, address })),
  }
}

async function readyNodes(api: Api): Promise<readonly string[]> {
  const { items } = nodesSchema.parse(await api.get('/api/v1/nodes'))
  return items
    .filter(({ status }) => status.conditions.some((one) => one.type === 'Ready' && one.status === 'True'))
    .map(({ metadata }) => metadata.name)
}

/** Creates the bridge between the nodes, and the addresses that represent external networks. */
async function layFabric(): Promise<void> {
  await run('ip', ['-batch', '-'], {
    input: [
      'link set lo up',
      `link add ${fabric.bridge} type bridge`,
      `addr add ${fabric.address}/${fabric.prefix} dev ${fabric.bridge}`,
      `link set ${fabric.bridge} up`,
      `addr add ${fabric.internet}/32 dev lo`,
      `addr add ${fabric.metadata}/32 dev lo`,
      '',
    ].join('\n'),
  })
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
}

/** Creates this group in every hierarchy; kubelets put the groups of their pods below it. */
async function makeControlGroups(path: string): Promise<void> {
  for (const hierarchy of await readdir(hierarchies)) {
    const parts = path.split('/')
    for (const depth of parts.keys()) {
      const group = join(hierarchies, hierarchy, ...parts.slice(0, depth + 1))
      await mkdir(group, { recursive: true })
      if (hierarchy === 'cpuset') {
        for (const name of ['cpuset.cpus', 'cpuset.mems']) {
          await writeFile(join(group, name), await readFile(join(group, '..', name), 'utf8'))
        }
      }
    }
  }
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>
