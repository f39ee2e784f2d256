import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  dataPaths,
  lockHome,
  openHomeFolder,
  readEnvironment,
} from '../../../../foundation/src/config/index.ts'
import { listenAsCluster } from '../../../../testing/src/listen-as-cluster.ts'
import type { ClusterAnswer } from '../../../../testing/src/listen-as-cluster.ts'
import { noteCluster } from '../choose-cluster.ts'
import { stopAgents } from './stop-agents.ts'

/** Creates the home of a killed mesh whose agents run in a cluster, and records the requests to that cluster. */
async function aLeftHome(answer: ClusterAnswer) {
  const folder = await mkdtemp(join(tmpdir(), 'stop-agents-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const cluster = await listenAsCluster(folder, answer)
  const paths = dataPaths(join(folder, 'home'))
  await openHomeFolder(paths)
  await noteCluster(paths.clusterFile, {
    context: undefined,
    namespace: 'fleet',
    image: '',
    seccomp: { kind: 'runtime-default' },
  })
  await writeFile(paths.stateFile, '{}')
  const printed: unknown[] = []
  const env = { FLOTILLA_HOME: paths.home, FLOTILLA_LOG_LEVEL: 'silent', KUBECONFIG: cluster.kubeconfig }
  const stop = () =>
    stopAgents({
      environment: readEnvironment(env),
      env,
      print: (line) => printed.push(line),
      stopped: new AbortController().signal,
      uid: 1000,
      pid: process.pid,
      program: ['/nonexistent'],
      repositoryRoot: '/nonexistent',
    })
  return { paths, cluster, stop, printed }
}

/** Returns the answers of a cluster with a released lease and these pods. */
const clusterWith =
  (pods: unknown): ClusterAnswer =>
  (_method, path) => {
    if (path.includes('/leases/')) return { metadata: { resourceVersion: '1' }, spec: {} }
    if (path.endsWith('/nodes')) return { items: [] }
    return path.includes('/pods?') ? pods : null
  }

const noPods = { metadata: { resourceVersion: '1' }, items: [] }

test('pods of a mesh that another machine runs meanwhile are not touched', async () => {
  let version = 0
  const lease = () => ({
    metadata: { resourceVersion: `${++version}` },
    spec: { holderIdentity: 'elsewhere', leaseTransitions: 3 },
  })
  const { stop, cluster, paths } = await aLeftHome((_method, path) =>
    path.includes('/leases/') ? lease() : clusterWith(noPods)(_method, path),
  )
  await expect(stop()).rejects.toMatchObject({
    code: 'home-in-use',
    detail: expect.stringContaining('elsewhere has the lease'),
  })
  expect(cluster.asked.filter((path) => path.includes('pods'))).toEqual([])
  expect(existsSync(paths.stateFile)).toBe(true)
  await (await lockHome(paths.home, { pid: 7, deed: 'starting' })).release()
})

test('where no pod is left, the crashed mesh is forgotten', async () => {
  const { stop, printed, paths } = await aLeftHome(clusterWith(noPods))
  expect(await stop()).toBe(0)
  expect(printed.at(-1)).toEqual({ ended: [], left: null })
  expect(existsSync(paths.stateFile)).toBe(false)
})

test('pods that a cluster does not list are a problem that names them and its repair, and a later stop tries again', async () => {
  const { stop, paths } = await aLeftHome(clusterWith(null))
  const failed = await stop().catch((error: unknown) => error)
  expect(failed).toMatchObject({
    id: 'pods-left',
    message: expect.stringMatching(
      /namespace fleet could not all be stopped[^]*Repair: [^]*kubectl --namespace fleet get pods --selector [^]*flotilla stop again/,
    ),
  })
  expect(existsSync(paths.stateFile)).toBe(true)
})

test('a cluster that does not answer is a problem, and a later stop tries again', async () => {
  const { stop, cluster, paths } = await aLeftHome(clusterWith(noPods))
  cluster.close()
  await expect(stop()).rejects.toMatchObject({
    id: 'cluster-unreachable',
    message: expect.stringContaining('Repair: try `kubectl get nodes`'),
  })
  expect(existsSync(paths.stateFile)).toBe(true)
})
