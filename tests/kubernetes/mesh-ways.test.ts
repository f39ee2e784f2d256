import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import * as z from 'zod'
import { sessionOf } from '../support/hosted-machine.ts'
import { repositoryRoot } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun, podsOfAgents } from './cluster-lane.ts'
import { fabric } from './cluster/layout.ts'
import { serveIngress } from './cluster/ingress.ts'
import { run } from './cluster/run.ts'
import { until } from './cluster/until.ts'
import {
  accessToken,
  installMesh,
  meshPodPath,
  meshReady,
  ownNamespace,
  ownerOf,
  readMesh,
  type MeshPod,
} from './in-cluster-mesh.ts'
import { apply, type Manifest } from './mesh-rights.ts'

/**
 * Traffic into a mesh that is a pod through an Ingress, a drain that moves it, and the memory that an agent costs
 * there.
 */
const { api } = clusterOfThisRun()
const host = 'fleet.example'
/** Agents without work, enough for some on each node. */
const idlers = 6
const restMs = 60_000
let pod: MeshPod
const people = ownerOf(() => pod)
const tell = (words: string): void => void process.stdout.write(`${words}\n`)

beforeAll(async () => {
  pod = await installMesh()
}, patient(150_000))

it(
  'a mesh in a pod lets people in by the Ingress of the chart, over TLS and by a session alone',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flotilla-ingress-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const at = (name: string) => join(folder, name)
    const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
    const files = ['-keyout', at('key'), '-out', at('crt'), '-days', '2', '-nodes']
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    await run('openssl', ['req', '-x509', ...key, ...subject, ...files])
    const encoded = async (name: string) => (await readFile(at(name))).toString('base64')
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: 'fleet-tls', namespace: ownNamespace },
      data: { 'tls.crt': await encoded('crt'), 'tls.key': await encoded('key') },
    }
    await apply([secret, await ofChart('Ingress', `ingress.host=${host}`)])
    const way = await serveIngress(api, { namespace: ownNamespace, name: 'people', host: fabric.address })
    onTestFinished(() => way.close())
    const ca = await readFile(at('crt'))
    const asked = (options: { readonly host?: string; readonly cookie?: string }) =>
      statusOver({ ca, port: way.port, path: meshHumanEndpoints.status.path, host, ...options })
    const cookie = `ol_session=${sessionOf(accessToken)}`
    expect(await asked({})).toMatchObject({ status: 401 })
    expect(await asked({ cookie })).toMatchObject({ status: 200, text: expect.stringContaining('operator') })
    expect(await asked({ cookie: `ol_session=${sessionOf('another-token')}` })).toMatchObject({ status: 401 })
    expect(await asked({ cookie, host: 'elsewhere.example' })).toMatchObject({ status: 404 })
    expect(await asked({ cookie })).toMatchObject({ status: 200 })
  },
  patient(120_000),
)

it(
  'the resources of idle agents are measured',
  async () => {
    const names = Array.from({ length: idlers }, (_, index) => `idler-${index + 1}`)
    for (const name of names) {
      await people.createWorker(name)
      await people.invoke(name, 'run_command', { command: 'true' })
    }
    // Processes release memory that they needed for their start within this time.
    await delay(restMs)
    const pods = (await podsOfAgents(api, 'flotilla')).filter(({ agent = '' }) => names.includes(agent))
    expect(pods).toHaveLength(idlers)
    const sums = { own: 0, around: 0 }
    for (const { uid } of pods) {
      const found = await memoryOf(uid)
      sums.own += found.own / idlers
      sums.around += found.around / idlers
    }
    const mb = (sum: number) => `${sum.toFixed(1)} MB`
    tell(`an idle agent takes ${mb(sums.own)} in its pod, and ${mb(sums.around)} for what holds the pod`)
    expect(Math.min(sums.own, sums.around)).toBeGreaterThan(0)
  },
  patient(240_000),
)

it(
  'a mesh in a pod lets a drain move it once it is ready, refuses a second one while it starts, and its fleet goes on',
  async () => {
    const node = pod.spec.nodeName ?? ''
    const runs = await people.runs()
    const evict = (query = '') => api.create(`${meshPodPath}/eviction${query}`, eviction)
    expect((await ofChart('PodDisruptionBudget'))['spec']).toEqual(budget)
    expect(budgetSchema.parse(await api.get(budgetPath)).spec).toEqual(budget)
    await movesAllowed(1)
    await api.patch(`/api/v1/nodes/${node}`, { spec: { unschedulable: true } })
    try {
      const startedAt = performance.now()
      await evict()
      const starting = await meshStarting(pod.metadata.uid)
      const refusal = { status: 429, message: expect.stringContaining('disruption budget') }
      await expect(evict()).rejects.toMatchObject(refusal)
      const moved = await meshReady(pod.metadata.uid, patient(240_000))
      tell(
        `a drained mesh is ready elsewhere after ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
      )
      expect(moved.spec.nodeName).not.toBe(node)
      expect(moved.metadata.uid).toBe(starting)
      pod = moved
      // The next eviction would be allowed; `dryRun` only asks.
      await movesAllowed(1)
      await evict('?dryRun=All')
    } finally {
      await api.patch(`/api/v1/nodes/${node}`, { spec: { unschedulable: false } })
    }
    const after = (await people.runs()).map(({ id }) => id)
    expect(after).toEqual(expect.arrayContaining(runs.map(({ id }) => id)))
    const done = await people.invoke('idler-1', 'run_command', { command: 'echo goes on' })
    expect(JSON.stringify(done.outcome)).toContain('goes on')
  },
  patient(400_000),
)

/** One mesh, which a drain may move, except while it is still starting after the move before. */
const budget = {
  maxUnavailable: 1,
  selector: { matchLabels: { 'app.kubernetes.io/name': 'flotilla-mesh' } },
}
const budgetPath = `/apis/policy/v1/namespaces/${ownNamespace}/poddisruptionbudgets/mesh`
const budgetSchema = z.looseObject({
  spec: z.unknown(),
  status: z.looseObject({ disruptionsAllowed: z.number() }),
})

/**
 * Waits until the cluster's own controller counts so many allowed evictions, which is a little after a pod is
 * ready.
 */
async function movesAllowed(count: number): Promise<void> {
  const counted = async () =>
    budgetSchema.parse(await api.get(budgetPath)).status.disruptionsAllowed === count
  await until(counted, patient(60_000), `the budget allows ${count}`)
}

const eviction = {
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name: 'mesh-0', namespace: ownNamespace },
}

async function ofChart(kind: string, ...settings: readonly string[]): Promise<Manifest> {
  const { stdout } = await promisify(execFile)(process.env['FLOTILLA_TEST_HELM'] ?? '', [
    'template',
    'fleet',
    join(repositoryRoot, 'deploy', 'kubernetes', 'chart'),
    '--kube-version=1.35.4',
    ...settings.flatMap((setting) => ['--set', setting]),
  ])
  const documents: unknown[] = parseAllDocuments(stdout).map((document) => document.toJS())
  const found = documents.find(
    (one): one is Manifest => typeof one === 'object' && one !== null && 'kind' in one && one.kind === kind,
  )
  if (found === undefined) throw new Error(`the chart has no ${kind}`)
  return found
}

/**
 * Waits for the next pod after `before` whose program runs but whose readiness was not probed yet. An earlier state
 * would prove nothing: Kubernetes evicts a pending pod whatever a budget says.
 */
async function meshStarting(before: string): Promise<string> {
  let seen = ''
  const runs = async () => {
    const { metadata, status } = (await readMesh()) ?? pod
    seen = metadata.uid
    return seen !== before && status.phase === 'Running'
  }
  await until(runs, patient(120_000), 'the next mesh starts')
  return seen
}

function statusOver(asked: {
  readonly ca: Buffer
  readonly port: number
  readonly path: string
  readonly host: string
  readonly cookie?: string
}): Promise<{ readonly status: number; readonly text: string }> {
  const { ca, port, path, cookie } = asked
  return new Promise((resolve, reject) => {
    const headers = { host: asked.host, ...(cookie === undefined ? {} : { cookie }) }
    request({ host: fabric.address, servername: host, port, path, ca, headers }, (reply) => {
      text(reply).then((said) => resolve({ status: reply.statusCode ?? 0, text: said }), reject)
    })
      .on('error', reject)
      .end()
  })
}

/**
 * Memory in MB, by proportional set size: of the agent's processes, and of the pause process and the shim beside
 * them.
 */
async function memoryOf(uid: string): Promise<{ readonly own: number; readonly around: number }> {
  const sums = { own: 0, around: 0 }
  let sandbox = ''
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  const pssOf = async (pid: string) =>
    Number(/^Pss:\s+(\d+)/m.exec(await read(pid, 'smaps_rollup'))?.[1] ?? 0) / 1_024
  for (const pid of pids) {
    const id = new RegExp(`pod${uid}/([0-9a-f]{64})`).exec(await read(pid, 'cgroup'))?.[1]
    if (id === undefined) continue
    const isPause = (await read(pid, 'comm')).trim() === 'pause'
    if (isPause) sandbox = id
    sums[isPause ? 'around' : 'own'] += await pssOf(pid)
  }
  for (const pid of pids) {
    const words = (await read(pid, 'cmdline')).split('\0')
    if (words[0]?.includes('containerd-shim') && sandbox !== '' && words.includes(sandbox))
      sums.around += await pssOf(pid)
  }
  return sums
}
