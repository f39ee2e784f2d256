import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import * as z from 'zod'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette } from '../support/cassettes.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { voyageCassette, voyageQuestion } from '../support/voyage-cassette.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { giveMeshRights } from './mesh-rights.ts'
import { agentImage } from './cluster/images.ts'
import { storageClass } from './cluster/controllers.ts'
import { fabric } from './cluster/layout.ts'

/** Agents as pods of a real mesh, whose agent API is on another machine than the pods. */
const { api, mesh: asMesh } = clusterOfThisRun()
const namespace = 'flotilla'
const secretsSchema = z.looseObject({
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ name: z.string() }),
      data: z.record(z.string(), z.string()).optional(),
    }),
  ),
})
const podSchema = z.looseObject({ metadata: z.looseObject({ uid: z.string() }) })

let mesh: MeshProcess
let homeId: string

beforeAll(async () => {
  await giveMeshRights()
  mesh = await startMesh({
    runtime: 'kubernetes',
    cassettes: { fleet: aCassette(...voyageCassette.tracks) },
    settings: { data_limit_mb: 64 },
    environment: {
      // The mesh has only the rights that docs/operations grants.
      KUBECONFIG: asMesh.kubeconfig,
      FLOTILLA_KUBERNETES_IMAGE: agentImage,
      FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
    },
  })
  homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
  for (const id of ['clerk', 'other']) await mesh.createWorker(id)
}, patient(300_000))
afterAll(() => mesh?.stop(), patient(120_000))
beforeEach(() => mesh.restartIfStopped(), patient(120_000))

async function inside(agent: string, command: string): Promise<string> {
  const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 120 })
  const { result } = run.outcome ?? {}
  return typeof result === 'string' ? result : `${run.outcome?.text} ${JSON.stringify(result)}`
}

/** Records which of these words cross the cluster's network while `work` runs. */
async function wireDuring<T>(words: readonly string[], work: () => Promise<T>) {
  const program = join(import.meta.dirname, 'listen-on-wire.py')
  const child = spawn('python3', [program, fabric.bridge, ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('listening')
  const done = await work()
  child.stdin.end()
  const parsed: unknown = JSON.parse(String((await lines.next()).value))
  return { done, ...z.strictObject({ bytes: z.number(), heard: z.array(z.string()) }).parse(parsed) }
}

async function putParcel(content: Uint8Array): Promise<void> {
  const params = { id: 'clerk', path: 'input/parcel.bin' }
  const put = await mesh.call(meshHumanEndpoints.fileWrite, {
    params,
    body: content,
    timeoutMs: patient(60_000),
  })
  expect(put.status, put.text).toBe(200)
}

it(
  'a fleet in pods answers a question with what a worker counted in its pod, and no word of it can be read between the machines',
  async () => {
    const word = 'plover-in-the-parcel'
    const content = Buffer.concat([
      Buffer.from(word),
      await readFile(join(repositoryRoot, 'package-lock.json')),
    ])
    const sum = createHash('sha256').update(content).digest('hex')
    const answer = `The file of ${content.length} bytes has the checksum ${sum}.`
    const { done, bytes, heard } = await wireDuring(
      [word, voyageQuestion, sum, 'canary-on-the-wire'],
      async () => {
        await putParcel(content)
        const run = await mesh.ask(voyageQuestion)
        await sayPlainly('canary-on-the-wire')
        return run.outcome?.text
      },
    )
    expect(done).toBe(answer)
    expect(bytes).toBeGreaterThan(content.length)
    // The recording works: a word that was sent unencrypted is found.
    expect(heard).toEqual(['canary-on-the-wire'])
  },
  patient(240_000),
)

/** Sends a word unencrypted to a node, over the same network. */
async function sayPlainly(word: string): Promise<void> {
  const socket = connect(10_250, '10.90.0.11')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.end(word)
  await once(socket, 'close')
}

it(
  'a fleet in pods lets programs of an agent come to the mesh by way of the agent alone',
  async () => {
    const models = 'curl -s -o /dev/null -w "%{http_code}" -H "authorization: Bearer $OPENAI_API_KEY"'
    expect(await inside('clerk', 'echo "$OPENAI_BASE_URL $HTTP_PROXY"')).toMatch(
      /http:\/\/127\.0\.0\.1:8420\/v1 http:\/\/clerk:[^@]+@127\.0\.0\.1:8421/,
    )
    expect(await inside('clerk', `${models} "$OPENAI_BASE_URL/models"`)).toContain('200')
    // The agent API does not answer a client without a key.
    const api = `http://${fabric.address}:8420/v1/models`
    expect(await inside('clerk', `${models} --noproxy '*' ${api}; echo " code $?"`)).toMatch(/000 code \d+/)
    // The proxy receives the request, and its filter refuses the address.
    const proxied = await inside('clerk', 'curl -s -o /dev/null -w "%{http_code}" http://10.90.0.11:10250/')
    expect(proxied).toMatch(/40\d/)
  },
  patient(240_000),
)

it(
  'a fleet in pods takes a token from the pod of its own agent alone',
  async () => {
    const token = /token:(\S+)/.exec(await inside('clerk', 'echo "token:$OPENAI_API_KEY"'))?.[1]
    expect(token).toMatch(/^[\w-]{20,}$/)
    const asked = (key: string) =>
      `curl -s -o /dev/null -w "%{http_code}" -H "authorization: Bearer ${key}" "$OPENAI_BASE_URL/models"`
    expect(await inside('other', `${asked('$OPENAI_API_KEY')}; echo; ${asked(token ?? '')}`)).toMatch(
      /200\n401/,
    )
  },
  patient(240_000),
)

it(
  'a fleet in pods leaves neither in the pod nor in the cluster what the agent alone may know',
  async () => {
    const seen = await inside('clerk', 'ls -A /once /briefing; ls /files; mount | grep -c " /once "')
    expect(seen).not.toMatch(/door-token|link-key/)
    expect(seen).toContain('SYSTEM.md')
    const { items } = secretsSchema.parse(await api.get(`/api/v1/namespaces/${namespace}/secrets`))
    const files = items.filter(({ metadata }) => metadata.name.endsWith('-files'))
    expect(files.length).toBeGreaterThan(1)
    for (const { data } of files) expect(data).toBeUndefined()
    const pods = JSON.stringify(await api.get(`/api/v1/namespaces/${namespace}/pods`))
    expect(pods).toContain('envFrom')
    expect(pods).not.toContain('OPENAI_API_KEY')
  },
  patient(240_000),
)

it(
  'a fleet in pods takes its agents up again after its own end, over the same lines',
  async () => {
    const uidOf = async (agent: string) =>
      podSchema.parse(await api.get(`/api/v1/namespaces/${namespace}/pods/${sandboxName(homeId, agent)}`))
        .metadata.uid
    await inside('clerk', 'true')
    const before = await uidOf('clerk')
    await mesh.kill9()
    await mesh.restart()
    expect(await inside('clerk', 'echo still here')).toContain('still here')
    expect(await uidOf('clerk')).toBe(before)
  },
  patient(240_000),
)

it(
  'notes where its agents live, and does not begin them anew elsewhere',
  async () => {
    await mesh.terminate()
    const noted: unknown = JSON.parse(await readFile(join(mesh.home, 'data', 'cluster.json'), 'utf8'))
    expect(noted).toEqual({ context: null, namespace })
    const { code, lines } = await mesh.command('serve', ['--runtime', 'process'])
    expect(code).toBe(1)
    expect(JSON.stringify(lines)).toContain('and their data are in')
    await mesh.restart()
    expect(await inside('clerk', 'wc -c < input/parcel.bin')).toMatch(/\d{6}/)
  },
  patient(300_000),
)
