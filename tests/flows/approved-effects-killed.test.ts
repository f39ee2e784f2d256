import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { approvalsOnKilledMesh, aroundEach, moments } from '../support/approvals-on-killed-mesh.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href

let web: WebServer
let mesh: MeshProcess
let arm: string
let desk: ReturnType<typeof approvalsOnKilledMesh>
/** Called by the server that the effects go to, before it answers. */
let onArrival: (() => void) | null = null
let sends = 0

beforeAll(async () => {
  web = await startWebServer((_request, response) => {
    onArrival?.()
    response.writeHead(201).end('ordered')
  })
  const address = `127.0.0.1:${web.port}`
  arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  const request = (body: string) =>
    calls('http_request', { url: `http://${address}/{{number}}`, method: 'POST', body, timeout_ms: 5000 })
  mesh = await startMesh({
    cassettes: {
      sender: aCassette(
        { when: 'approval|action', turns: [says('Heard.')] },
        {
          when: '^send (\\d+)$',
          turns: [{ ...request('one'), capture: { number: '^send (\\d+)$' } }, says('Asked.')],
        },
      ),
    },
    settings: { egress: { allowed_private: [address] } },
    environment: { NODE_OPTIONS: `--import=${preload}`, KILL_WHEN_ARMED: arm },
  })
  desk = approvalsOnKilledMesh(mesh, arm)
  await mesh.createWorker('sender')
  const home = { url: mesh.url, home: mesh.home }
  await flotilla(home, 'permissions', 'set', 'sender', 'allowed_apis+=http')
  await layPolicy(
    mesh,
    'rules:\n  - { name: orders, match: { method: POST }, verdict: ask, reason: An order. }\n',
    'orders',
  )
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
})
beforeEach(async () => {
  onArrival = null
  await rm(arm, { force: true })
  await mesh.restartIfStopped()
})

/** One order of an agent, whose path no other order has. */
function anOrder() {
  const number = ++sends
  const path = `/${number}`
  return {
    sent: () => web.requests.filter(({ url }) => url === path).length,
    ...desk.of((args) => JSON.stringify(args['url']).endsWith(`${path}"`)),
    /** Lets the agent ask, whatever becomes of the mesh. */
    ask: () =>
      mesh.submit(`send ${number}`, { agent: 'sender', key: `order ${number}`, session: `s${number}` }),
  }
}

describe('an effect that a rule asks about, on a mesh that is killed', () => {
  it.each(aroundEach('INSERT INTO approvals'))(
    '%s asking (%s), is asked about once and not sent',
    async (moment, row) => {
      const order = anOrder()
      await writeFile(arm, `${moment} ${row}`)
      const run = await order.ask()
      await desk.restarted()
      const approval = await order.asked()
      expect(await order.approvals()).toHaveLength(1)
      expect(order.sent()).toBe(0)
      await desk.confirm(approval)
      expect((await order.settled()).state).toBe('done')
      // The agent repeats the call that was interrupted, and no person is asked again.
      await mesh.ended(run)
      expect(await order.approvals()).toHaveLength(1)
      expect(order.sent()).toBe(1)
    },
  )

  it.each([
    ...aroundEach('UPDATE approvals', 'INSERT INTO effect'),
    ...aroundEach('UPDATE effect', '2x UPDATE approvals', 'INSERT OR IGNORE INTO run_inbox'),
  ])('%s a row of carrying out (%s), leaves at most once', async (moment, row) => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    await writeFile(arm, `${moment} ${row}`)
    await desk.confirm(approval).catch(() => undefined)
    await desk.restarted()
    const [now] = await order.approvals()
    if (now?.state === 'pending') {
      expect(order.sent()).toBe(0)
      await desk.confirm(now)
    }
    const { state } = await order.settled()
    // An effect that may have left is not reported as done, and is not repeated.
    expect([state, order.sent()]).toEqual(
      order.sent() === 0 || (moment === 'before' && row === 'UPDATE effect')
        ? ['failed', order.sent()]
        : ['done', 1],
    )
    // Using the approval again changes nothing.
    expect((await desk.confirm(approval)).status).toBe(409)
    await mesh.kill9()
    await mesh.restart()
    expect(order.sent()).toBeLessThanOrEqual(1)
  })

  it('while the other side answers, leaves once and is reported as of unknown outcome', async () => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    onArrival = () => process.kill(mesh.pid, 'SIGKILL')
    await desk.confirm(approval).catch(() => undefined)
    onArrival = null
    await mesh.kill9().catch(() => undefined)
    await mesh.restart()
    const end = await order.settled()
    expect(end).toMatchObject({ state: 'failed', detail: expect.stringContaining('outcome is unknown') })
    expect(order.sent()).toBe(1)
  })

  it.each(moments)('%s expiring, is never sent', async (moment) => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    await mesh.kill9()
    desk.changeRow(approval.id, 'expires_at = 1')
    await writeFile(arm, `${moment} UPDATE approvals`)
    await mesh.restart().catch(() => undefined)
    await desk.restarted()
    expect((await order.settled()).state).toBe('expired')
    expect((await desk.confirm(approval)).status).toBe(410)
    expect(order.sent()).toBe(0)
  })

  it('after the approval, whose time is over when the mesh is back, is not sent', async () => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.confirm(approval).catch(() => undefined)
    await desk.killed()
    desk.changeRow(approval.id, 'expires_at = 1')
    await mesh.restart()
    expect((await order.settled()).state).toBe('expired')
    expect(order.sent()).toBe(0)
  })

  it('after the approval, whose arguments differ when the mesh is back, is not sent', async () => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.confirm(approval).catch(() => undefined)
    await desk.killed()
    desk.changeRow(approval.id, "args = json_set(args, '$.body', 'two')")
    await mesh.restart()
    expect((await order.settled()).state).toBe('failed')
    expect(order.sent()).toBe(0)
  })

  it('whose run is cancelled meanwhile is not said to be unsent if it was sent', async () => {
    const order = anOrder()
    const run = await order.ask()
    const approval = await order.asked()
    onArrival = () => process.kill(mesh.pid, 'SIGKILL')
    await desk.confirm(approval).catch(() => undefined)
    onArrival = null
    await mesh.kill9().catch(() => undefined)
    desk.changeRow(run, "state = 'cancelled', ended_at = created_at", 'runs')
    await mesh.restart()
    const end = await order.settled()
    expect(end.state).toBe('failed')
    expect(end.detail).not.toContain('nothing was sent')
    expect(order.sent()).toBe(1)
  })

  it('after it was rejected is never sent, whatever is called then', async () => {
    const order = anOrder()
    await order.ask()
    const approval = await order.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.reject(approval).catch(() => undefined)
    await desk.restarted()
    expect((await order.approvals())[0]?.state).toBe('cancelled')
    expect((await desk.confirm(approval)).status).toBe(409)
    expect(order.sent()).toBe(0)
  })

  it('is one effect if it is edited: the approved request leaves, and the edited one does not', async () => {
    const order = anOrder()
    const run = await order.ask()
    const first = await order.asked()
    const edited = anOrder()
    await writeFile(arm, 'after INSERT INTO approvals')
    await edited.ask()
    await desk.restarted()
    const second = await edited.asked()
    expect(second.id).not.toBe(first.id)
    expect((await desk.confirm({ ...first, digest: second.digest })).status).toBe(409)
    await desk.confirm(first)
    expect((await order.settled()).state).toBe('done')
    expect([order.sent(), edited.sent()]).toEqual([1, 0])
    await mesh.call(meshHumanEndpoints.runCancel, { params: { id: run } })
  })
})
