import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import {
  dataPaths,
  lockHome,
  openHomeFolder,
  readEnvironment,
} from '../../../../foundation/src/config/index.ts'
import { noteCluster } from '../choose-cluster.ts'
import { backup } from './backup.ts'

/** A backup of a home whose agents run in a cluster, with the requests to that cluster. */
async function aCopy(lease: () => unknown) {
  const folder = await mkdtemp(join(tmpdir(), 'backup-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [keyFile, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const form = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cluster'
  const named = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', file]
  await promisify(execFile)('openssl', [...form.split(' '), ...named])
  const asked: string[] = []
  const server = createServer({ key: await readFile(keyFile), cert: await readFile(file) }, (call, reply) => {
    const path = call.url ?? ''
    asked.push(`${call.method} ${path.replace(/\/[^/]*$/, '/')}`)
    const found = path.includes('/leases/') ? lease() : path.endsWith('/nodes') ? { items: [] } : null
    reply.writeHead(found === null ? 500 : 200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(found ?? { kind: 'Status', code: 500 }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const place = server.address()
  const port = typeof place === 'object' ? place?.port : undefined
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': file } },
    ],
    users: [{ name: 'u', user: { token: 't' } }],
  }
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig))
  const home = join(folder, 'home')
  const paths = dataPaths(home)
  await openHomeFolder(paths)
  await noteCluster(paths.clusterFile, {
    context: undefined,
    namespace: 'fleet',
    image: '',
    seccomp: { kind: 'runtime-default' },
  })
  const told: unknown[] = []
  const made = (runtime?: string) => {
    const env = {
      FLOTILLA_HOME: home,
      FLOTILLA_LOG_LEVEL: 'silent',
      KUBECONFIG: join(folder, 'kubeconfig'),
      ...(runtime === undefined ? {} : { FLOTILLA_RUNTIME: runtime }),
    }
    return backup({
      environment: readEnvironment(env),
      env,
      print: (line) => told.push(line),
      stopped: new AbortController().signal,
      uid: 1000,
      pid: process.pid,
      program: ['/nonexistent'],
      file: join(folder, 'made'),
      backup: { secrets: 'none', without: [] },
      repositoryRoot: '/nonexistent',
    })
  }
  return { home, made, asked, told }
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
