import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { loadavg } from 'node:os'
import * as z from 'zod'
import { claimName } from '../../packages/fleet/src/sandbox/kubernetes/agent-objects.ts'
import { hollowClass } from './cluster/controllers.ts'
import { fabric } from './cluster/layout.ts'
import { kwokStages } from './cluster/programs.ts'
import { keep } from './cluster/run.ts'
import type { Cluster } from './cluster/start-cluster.ts'
import { until } from './cluster/until.ts'
import { giveMeshRights } from './mesh-rights.ts'
import { hollowHome, namespace } from './scale-names.ts'

const podsPerNode = 250
const hollowAnnotation = 'kwok.x-k8s.io/node'
/**
 * Longest time for one command to the mesh's side, milliseconds; what takes longer is too much for this machine.
 */
const orderMaxMs = 1_800_000
const idleSeconds = 60
const readyMs = 240_000
const madeAtOnce = 32
const claimBytes = String(64 * 1024 * 1024)

const summarySchema = z.looseObject({
  seconds: z.number().default(0),
  cpuSeconds: z.number().default(0),
  megabytes: z.number().default(0),
  known: z.number().optional(),
  started: z.number().optional(),
  failed: z.array(z.string()).default([]),
  error: z.string().optional(),
})
type Told = z.infer<typeof summarySchema>

/**
 * `npm run test:kubernetes -- --scale 1000,5000`: so many pods of agents on simulated nodes, whose kubelets KWOK
 * plays. Everything else is real: the API server, etcd, the scheduler, the controllers, and the mesh's Kubernetes
 * runtime, which starts the pods, follows them and adopts them after a restart.
 */
export async function runClusterScale(
  cluster: Cluster,
  options: {
    readonly kwok: string
    readonly counts: readonly number[]
    readonly tell: (words: string) => void
  },
): Promise<number> {
  const { api } = cluster
  const { tell } = options
  const most = Math.max(...options.counts)
  await giveMeshRights(cluster)
  await api.create('/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: hollowClass },
    provisioner: 'flotilla.test/hollow',
  })
  const stages = join(dirname(cluster.placeFile), 'stages.yaml')
  await writeFile(stages, await kwokStages())
  const kwok = keep(
    options.kwok,
    [
      `--kubeconfig=${cluster.kubeconfigFile}`,
      `--config=${stages}`,
      // This cluster counts no node as lost for an hour, so nodes need no leases.
      '--node-lease-duration-seconds=0',
      '--manage-all-nodes=false',
      `--manage-nodes-with-annotation-selector=${hollowAnnotation}=fake`,
      `--cidr=10.93.0.0/16`,
      `--node-ip=${fabric.internet}`,
    ],
    { logFile: join(dirname(cluster.placeFile), 'kwok.log') },
  )
  const hollow = Array.from({ length: Math.ceil(most / podsPerNode) }, (_, index) => `hollow-${index + 1}`)
  const real = cluster.nodes.map(({ name }) => name)
  const close = (names: readonly string[], unschedulable: boolean) =>
    Promise.all(names.map((name) => api.patch(`/api/v1/nodes/${name}`, { spec: { unschedulable } })))
  for (const name of hollow) await api.create('/api/v1/nodes', hollowNode(name))
  let mesh = await startSide(cluster)
  try {
    // Trial pods run on real nodes, since a simulated pod prints nothing.
    tell(`prepared: ${words(await mesh.order('prepare'))}`)
    await close(real, true)
    await close(hollow, false)
    await until(() => areReady(cluster, hollow), readyMs, 'the nodes that are nowhere are ready')
    let before = 0
    for (const count of options.counts) {
      await makeVolumes(cluster, before, count)
      const told = await mesh.order(`start ${before} ${count}`)
      const rate = (told.started ?? 0) / told.seconds
      tell(`${count} pods: ${rate.toFixed(1)} a second; ${words(told)}`)
      if (told.failed.length > 0 || told.error !== undefined) return 1
      tell(`idle with ${count}: ${words(await mesh.order(`idle ${idleSeconds}`))}`)
      await close(hollow, true)
      await close(real, false)
      await mesh.kill()
      mesh = await startSide(cluster)
      const again = await mesh.order('prepare')
      tell(`taken up again with ${count}: ${words(again)}`)
      if (again.known !== count) return 1
      await close(real, true)
      await close(hollow, false)
      before = count
    }
    return 0
  } finally {
    await mesh.kill()
    kwok.kill('SIGKILL')
  }
}

const nodeSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z.looseObject({
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
  }),
})

async function areReady({ api }: Cluster, names: readonly string[]): Promise<boolean> {
  const { items } = z.looseObject({ items: z.array(nodeSchema) }).parse(await api.get('/api/v1/nodes'))
  const ready = items.filter(({ status }) =>
    status.conditions.some((one) => one.type === 'Ready' && one.status === 'True'),
  )
  return names.every((name) => ready.some(({ metadata }) => metadata.name === name))
}

function words({ seconds, cpuSeconds, megabytes, known, failed, error }: Told): string {
  const share = ((cpuSeconds / seconds) * 100).toFixed(1)
  return [
    `${seconds.toFixed(1)} s`,
    `${cpuSeconds.toFixed(2)} s of processor (${share} % of one)`,
    `${megabytes.toFixed(1)} MB`,
    ...(known === undefined ? [] : [`${known} pods known`]),
    ...failed,
    ...(error === undefined ? [] : [error]),
    `load ${loadavg()[0]?.toFixed(1)}`,
  ].join(', ')
}

/** Starts the mesh's side in a process of its own. */
async function startSide(cluster: Cluster) {
  const child = spawn(process.execPath, ['--expose-gc', join(import.meta.dirname, 'scale-mesh.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, KUBECONFIG: cluster.meshKubeconfig },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  const ended = once(child, 'exit')
  return {
    async order(line: string): Promise<Told> {
      child.stdin.write(`${line}\n`)
      const late = AbortSignal.timeout(orderMaxMs)
      const said = await Promise.race([
        lines.next(),
        once(late, 'abort').then(() => Promise.reject(new Error(`no answer to ${line}`))),
      ])
      return summarySchema.parse(JSON.parse(String(said.value)))
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const hollowRoom = { cpu: '1k', memory: '10Ti', pods: '1k', 'ephemeral-storage': '10Ti' } as const

function hollowNode(name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { [hollowAnnotation]: 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    },
    spec: { unschedulable: true },
    // KWOK keeps the capacity that is set here. By itself it gives a node no disk, but agents request some.
    status: { allocatable: hollowRoom, capacity: hollowRoom },
  }
}

/** Creates a volume for each claim that will follow, so that none needs space on the disk. */
async function makeVolumes({ api }: Cluster, from: number, to: number): Promise<void> {
  const ids = Array.from({ length: to - from }, (_, index) => `agent-${from + index}`)
  const next = ids.values()
  async function makeOneAfterTheOther(): Promise<void> {
    for (const id of next) {
      const name = claimName(hollowHome, id)
      await api.create('/api/v1/persistentvolumes', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `hollow-${name}` },
        spec: {
          capacity: { storage: claimBytes },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: hollowClass,
          claimRef: { namespace, name },
          hostPath: { path: '/nowhere' },
        },
      })
    }
  }
  await Promise.all(Array.from({ length: madeAtOnce }, makeOneAfterTheOther))
}
