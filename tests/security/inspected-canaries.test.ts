import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replayEndpoints } from '@flotilla/protocol/replay-api'
import { traceEndpoints } from '@flotilla/protocol/trace-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCanaryHunt } from '../support/canary-hunt.ts'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { echoingPaths, startEchoingSite } from '../support/echoing-site.ts'
import type { EchoingSite } from '../support/echoing-site.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { verifies } from '../verifies.ts'

const host = 'echo.outside.test'
const random = (bytes: number) => randomBytes(bytes).toString('hex')
/** The second has characters that JSON and addresses escape. */
const canaries = [
  { name: 'github', value: `ghp_${random(18)}` },
  { name: 'vendor', value: `zq${random(8)}/+"&=${random(8)}` },
]
const decoy = `decoy${random(9)}`

let mesh: MeshProcess
let site: EchoingSite
let names: NameServer
let folder: string

beforeAll(async () => {
  site = await startEchoingSite(host, { secrets: canaries.map(({ value }) => value), decoy })
  names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
  folder = await mkdtemp(join(tmpdir(), 'flotilla-authority-'))
  const authorities = join(folder, 'outside.pem')
  await writeFile(authorities, site.certificate)
  const place = `${host}:${site.port}`
  // The agent writes what it receives into its folder, and its model reads it. It has a placeholder and a handle.
  const fetched = `for version in http1.1 http2; do for path in ${echoingPaths.join(' ')}; do
    curl -sSki --$version -H "Authorization: Bearer $GITHUB_TOKEN" -H 'X-Api-Key: $CRED{vendor}' https://${place}$path 2>&1 | tee received$(echo $path | tr / -)-$version; echo
  done; done`
  const basic = `curl -sSki -u "user:$GITHUB_TOKEN" https://${place}/whole/bytes/basic | tee received-basic; echo`
  mesh = await startMesh({
    cassettes: {
      day: aCassette({
        when: '^fetch$',
        turns: [
          runs(fetched, { timeoutSeconds: 200 }),
          runs(basic),
          says('It said {{all}}', { capture: { all: '([\\s\\S]{1,6000})' } }),
        ],
      }),
    },
    environment: { FLOTILLA_NO_INSTALL: '1', FLOTILLA_LOG_LEVEL: 'debug', NODE_EXTRA_CA_CERTS: authorities },
    settings: {
      rate_limits: { http: 100_000 },
      egress: {
        dns_servers: [`127.0.0.1:${names.port}`],
        allowed_private: [place],
        inspected_hosts: [host],
      },
    },
  })
  await mesh.createWorker('clerk')
  for (const { name, value } of canaries) {
    const reply = await mesh.call(vaultHumanEndpoints.credentialSet, {
      params: { name },
      body: { value, hosts: [place], programs: [`env:${name.toUpperCase()}_TOKEN`] },
    })
    if (reply.status >= 300) throw new Error(reply.text)
  }
  await editPermissions(mesh, 'clerk', { allowed_credentials: ['*'] })
})
afterAll(async () => {
  await mesh?.stop()
  await site?.close()
  names?.close()
  if (folder) await rm(folder, { recursive: true, force: true })
})

it('no program, file, log, trace or replay record holds what an inspected host says back of a secret', async () => {
  verifies('authentication:credentials:handles-only')
  const run = await mesh.ask('fetch', { agent: 'clerk' })
  expect(run.outcome, run.outcome?.text).toMatchObject({ status: 'done' })
  // The host was sent the values in every form, so that there was something to lose.
  const sent = site.requests.map(({ authorization, 'x-api-key': key }) => [authorization, key])
  expect(sent).toContainEqual([`Bearer ${canaries[0]?.value}`, canaries[1]?.value])
  expect(sent).toContainEqual([
    `Basic ${Buffer.from(`user:${canaries[0]?.value}`).toString('base64')}`,
    undefined,
  ])
  expect(site.requests).toHaveLength(2 * echoingPaths.length + 1)

  // The hunt cannot see what is compressed.
  for (const coding of ['gzip', 'br'])
    for (const version of ['http1.1', 'http2']) {
      const received = join(mesh.dataOf('clerk'), `received-coded-${coding}-${version}`)
      expect(await readFile(received, 'latin1')).toContain(`compressed its answer (${coding})`)
    }

  const hunt = createCanaryHunt([...canaries, { name: 'decoy', value: decoy }])
  const params = { id: run.id }
  hunt.search('the answer', run.outcome?.text ?? '')
  const trace = await mesh.call(traceEndpoints.runTrace, { params })
  expect(trace.text).toContain('execute_tool run_command')
  hunt.search('the trace', trace.text)
  hunt.search('the replay record', (await mesh.call(replayEndpoints.runRecord, { params })).text)
  hunt.search('what the mesh printed', mesh.log())
  await hunt.searchFolder(mesh.home, [join(mesh.home, '.env')])
  expect(await mesh.terminate()).toBe(0)
  hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))
  await hunt.searchFolder(mesh.home, [join(mesh.home, '.env')])

  const leaks = hunt.findings().filter(({ canary }) => canary !== 'decoy')
  expect(
    leaks.map(({ canary, spelling, place }) => `${place.replace(mesh.home, '')}: ${canary}, ${spelling}`),
  ).toEqual([])
  const held = hunt.findings().map(({ place }) => place.replace(mesh.home, ''))
  expect(held).toEqual(expect.arrayContaining(['the answer', 'the replay record']))
  expect(held.join('\n')).toMatch(/agents\/[0-9a-f]+\/data\/received-whole-text-plain-http2/)
})
