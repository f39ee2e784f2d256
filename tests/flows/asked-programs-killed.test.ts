import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { approvalsOnKilledMesh, aroundEach } from '../support/approvals-on-killed-mesh.ts'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'

const support = join(repositoryRoot, 'tests', 'support')
const preload = pathToFileURL(join(support, 'kill-at-row.mjs')).href
const host = 'code.outside.test'

let site: PackageSite
let names: NameServer
let mesh: MeshProcess
let arm: string
let desk: ReturnType<typeof approvalsOnKilledMesh>
let count = 0

beforeAll(async () => {
  site = await startPackageSite(host)
  names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
  const place = `${host}:${site.tlsPort}`
  const folder = await mkdtemp(join(tmpdir(), 'arm-'))
  arm = join(folder, 'armed')
  await writeFile(join(folder, 'outside.pem'), site.certificate)
  const harness = { command: [process.execPath, join(support, 'acp-harness.mjs')] }
  mesh = await startMesh({
    cassettes: {
      clerk: aCassette(
        { when: 'approval|action|What you asked', turns: [says('Heard.')] },
        {
          when: '^send (\\d+)$',
          turns: [
            {
              ...runs(`curl -sS -d 'a body' https://${place}/{{number}}.`),
              capture: { number: '^send (\\d+)$' },
            },
            says('Asked.'),
          ],
        },
      ),
    },
    settings: {
      restarts_per_hour: 1000,
      rate_limits: { http: 100_000 },
      agents: { coder: { harness } },
      egress: {
        dns_servers: [`127.0.0.1:${names.port}`],
        allowed_private: [place],
        inspected_hosts: [host],
      },
    },
    environment: {
      NODE_OPTIONS: `--import=${preload}`,
      KILL_WHEN_ARMED: arm,
      NODE_EXTRA_CA_CERTS: join(folder, 'outside.pem'),
    },
  })
  desk = approvalsOnKilledMesh(mesh, arm)
  for (const id of ['clerk', 'coder']) await mesh.createWorker(id)
  await layPolicy(
    mesh,
    `rules:
  - { name: posts, match: { host: ${host}, method: POST }, verdict: ask, reason: It writes. }
  - { name: programs, match: { agent: coder, tool: harness_execute }, verdict: ask, reason: It runs. }
`,
    'programs',
  )
})
afterAll(async () => {
  await mesh?.stop()
  await site?.close()
  names?.close()
})
beforeEach(async () => {
  await rm(arm, { force: true })
  await mesh.restartIfStopped()
})

/** The kinds of effects: what an agent is asked to do, and how often effect N was made. */
const kinds = {
  'a program’s request to an inspected host': {
    agent: 'clerk',
    text: (number: number) => `send ${number}`,
    isOwn: (args: string, number: number) => args.includes(`/${number}."`),
    made: async (number: number) => site.requests.filter(({ url }) => url === `/${number}.`).length,
  },
  'a call that a harness asks for': {
    agent: 'coder',
    text: (number: number) => `run echo x >> made-${number}.\nsay End.`,
    isOwn: (args: string, number: number) => args.includes(`made-${number}.`),
    made: async (number: number) =>
      (await readFile(join(mesh.dataOf('coder'), `made-${number}.`), 'utf8').catch(() => '')).length / 2,
  },
} as const

/** One effect of a kind, which no other one equals. */
function anEffect(kind: keyof typeof kinds) {
  const number = ++count
  const { agent, text, isOwn, made } = kinds[kind]
  return {
    ...desk.of((args) => isOwn(JSON.stringify(args), number)),
    made: () => made(number),
    ask: () => mesh.submit(text(number), { agent, key: `key-${number}`, session: `s${number}` }),
  }
}

const at = (...statements: readonly string[]) =>
  aroundEach(...statements).map(([moment, statement]) => `${moment} ${statement}`)

const request = 'a program’s request to an inspected host'
const call = 'a call that a harness asks for'

const asking = [
  ...at('INSERT INTO kept_bodies', 'INSERT INTO approvals').map((step) => [request, step] as const),
  ...at('INSERT INTO approvals').map((step) => [call, step] as const),
]
const carryingOut = [
  ...at(
    'UPDATE approvals',
    'INSERT INTO effect',
    'UPDATE effect',
    '2x UPDATE approvals',
    'DELETE FROM kept_bodies',
  ).map((step) => [request, step] as const),
  ...at('UPDATE approvals', '2x UPDATE approvals').map((step) => [call, step] as const),
]

describe('an effect that a rule asks about, on a mesh that is killed', () => {
  it.each(asking)('%s is not made before a person approved it, killed %s', async (kind, step) => {
    const effect = anEffect(kind)
    await writeFile(arm, step)
    const run = await effect.ask()
    await desk.restarted()
    // A harness asks again in the next attempt; a command of an agent is not repeated.
    const isAsked = kind === call || step.startsWith('after')
    const approval = isAsked ? await effect.asked() : null
    expect(await effect.made()).toBe(0)
    if (approval !== null) {
      await desk.confirm(approval)
      expect((await effect.settled()).state).toBe('done')
    }
    await mesh.ended(run)
    const asked = await effect.approvals()
    expect(asked.length).toBeLessThanOrEqual(1)
    expect(await effect.made()).toBe(asked.length)
  })

  it.each(carryingOut)('%s is made at most once, killed %s', async (kind, step) => {
    const effect = anEffect(kind)
    const run = await effect.ask()
    const approval = await effect.asked()
    await writeFile(arm, step)
    await desk.confirm(approval).catch(() => undefined)
    await desk.restarted()
    const [now] = await effect.approvals()
    if (now?.state === 'pending') {
      expect(await effect.made()).toBe(0)
      await desk.confirm(now)
    }
    const { state } = await effect.settled()
    await mesh.ended(run)
    const made = await effect.made()
    // A request that may have left is not reported as done, and is not repeated.
    expect(['done 1', 'failed 0', 'failed 1']).toContain(`${state} ${made}`)
    expect((await desk.confirm(approval)).status).toBe(409)
    await mesh.kill9()
    await mesh.restart()
    expect(await effect.made()).toBe(made)
  })

  it.each([
    [request, 'expired', 'expires_at = 1', 'expired'],
    [request, 'has other bytes', "args = json_set(args, '$.path', '/other')", 'failed'],
    [call, 'expired', 'expires_at = 1', 'expired'],
    [call, 'is another call', "args = json_set(args, '$.input', 'run rm all')", 'failed'],
  ] as const)(
    '%s, approved and %s when the mesh is back, is not made',
    async (...[kind, , change, state]) => {
      const effect = anEffect(kind)
      const run = await effect.ask()
      const approval = await effect.asked()
      await writeFile(arm, 'after UPDATE approvals')
      await desk.confirm(approval).catch(() => undefined)
      await desk.killed()
      desk.changeRow(approval.id, change)
      await mesh.restart()
      const settled = await eventually('the approval is decided', async () => {
        const reply = await mesh.call(controlEndpoints.pendingOne, { params: { id: approval.id } })
        const one = controlApi.pendingOne.response.parse(reply.json())
        return one.state !== 'pending' && one.state !== 'confirmed' ? one : null
      })
      expect([settled.state, await effect.made()]).toEqual([state, 0])
      // The turn of a harness goes on, so a person is asked again after an expiry; its run waits for the answer.
      if (kind === call && state === 'expired') {
        await desk.reject(await effect.askedAgain())
      }
      await mesh.ended(run)
      expect(await effect.made()).toBe(0)
    },
  )

  it.each([request, call] as const)('%s is never made after it was rejected', async (kind) => {
    const effect = anEffect(kind)
    const run = await effect.ask()
    const approval = await effect.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.reject(approval).catch(() => undefined)
    await desk.restarted()
    expect((await effect.settled()).state).toBe('cancelled')
    expect((await desk.confirm(approval)).status).toBe(409)
    await mesh.ended(run)
    expect(await effect.made()).toBe(0)
  })
})
