import { mkdtemp, rm } from 'node:fs/promises'
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
import { noteCluster } from '../choose-cluster.ts'
import { backup } from './backup.ts'

/** A backup of a home whose agents run in a cluster, with the requests to that cluster. */
async function aCopy(lease: () => unknown) {
  const folder = await mkdtemp(join(tmpdir(), 'backup-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { kubeconfig, asked } = await listenAsCluster(folder, (_method, path) =>
    path.includes('/leases/') ? lease() : path.endsWith('/nodes') ? { items: [] } : null,
  )
  const home = join(folder, 'home')
  const paths = dataPaths(home)
  await openHomeFolder(paths)
  await noteCluster(paths.clusterFile, {
    context: undefined,
    namespace: 'fleet',
    image: '',
    seccomp: { kind: 'runtime-default' },
  })
  const notified: unknown[] = []
  const made = (runtime?: string) => {
    const env = {
      FLOTILLA_HOME: home,
      FLOTILLA_LOG_LEVEL: 'silent',
      KUBECONFIG: kubeconfig,
      ...(runtime === undefined ? {} : { FLOTILLA_RUNTIME: runtime }),
    }
    return backup({
      environment: readEnvironment(env),
      env,
      print: (line) => notified.push(line),
      stopped: new AbortController().signal,
      uid: 1000,
      pid: process.pid,
      program: ['/nonexistent'],
      file: join(folder, 'made'),
      backup: { secrets: 'none', without: [] },
      repositoryRoot: '/nonexistent',
    })
  }
  return { home, made, asked, told: notified }
}

test('if a mesh elsewhere renews its lease, nothing changes in the cluster and the home is unlocked', async () => {
  let version = 0
  const copy = await aCopy(() => ({
    metadata: { resourceVersion: `${++version}` },
    spec: { holderIdentity: 'elsewhere', leaseTransitions: 3 },
  }))
  const refused = { code: 'home-in-use', detail: expect.stringContaining('elsewhere has the lease') }
  await expect(copy.made()).rejects.toMatchObject(refused)
  const ofLease = 'GET /apis/coordination.k8s.io/v1/namespaces/fleet/leases/'
  expect(copy.asked).toEqual(['GET /api/v1/', ofLease, ofLease])
  await (await lockHome(copy.home, { pid: 7, deed: 'starting' })).release()
})

test('a released lease is not waited for', async () => {
  const copy = await aCopy(() => ({ metadata: { resourceVersion: '1' }, spec: { leaseTransitions: 3 } }))
  // The backup continues until a request that this fake cluster does not answer.
  await expect(copy.made()).rejects.not.toMatchObject({ code: 'home-in-use' })
  expect(copy.asked.slice(2, 3)).toEqual(['GET /api/v1/'])
  expect(JSON.stringify(copy.told)).not.toContain('Waiting')
})

test('agents of a cluster are not searched for on this machine', async () => {
  const copy = await aCopy(() => null)
  await expect(copy.made('docker')).rejects.toMatchObject({
    code: 'conflict',
    repair: expect.stringContaining('FLOTILLA_RUNTIME'),
  })
  expect(copy.asked).toEqual([])
})
