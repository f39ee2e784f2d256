import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { approvalsOnKilledMesh, aroundEach } from '../support/approvals-on-killed-mesh.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { startMcpWebServer } from '../support/mcp-web-server.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import type { WebServer } from '../support/web-server.ts'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href

let web: WebServer
let mesh: MeshProcess
let arm: string
let desk: ReturnType<typeof approvalsOnKilledMesh>
let count = 0

beforeAll(async () => {
  web = await startMcpWebServer()
  const address = `127.0.0.1:${web.port}`
  arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  mesh = await startMesh({
    cassettes: {
      caller: aCassette(
        { when: 'approval|action', turns: [says('Heard.')] },
        {
          when: '^call (\\d+)$',
          turns: [
            { ...calls('echo', { text: 'number {{number}}.' }), capture: { number: '^call (\\d+)$' } },
            says('Asked.'),
          ],
        },
      ),
    },
    settings: { egress: { allowed_private: [address] } },
    environment: { NODE_OPTIONS: `--import=${preload}`, KILL_WHEN_ARMED: arm },
  })
  desk = approvalsOnKilledMesh(mesh, arm)
  await mesh.createWorker('caller')
  await flotilla({ url: mesh.url, home: mesh.home }, 'permissions', 'set', 'caller', 'allowed_apis+=http')
  const given = await mesh.call(controlEndpoints.agentEdit, {
    params: { id: 'caller' },
    body: {
      field: 'mcpServers',
      value: { set: { web: { url: `http://${address}/mcp` } }, remove: [] },
      reason: '',
    },
  })
  if (given.status !== 200) throw new Error(given.text)
  await layPolicy(
    mesh,
    'rules:\n  - { name: echoes, match: { mcp_server: web, mcp_tool: echo }, verdict: ask, reason: It says it. }\n',
    'echoes',
  )
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
})
beforeEach(async () => {
  await rm(arm, { force: true })
  await mesh.restartIfStopped()
})

/** One tool call of an agent, whose argument no other call has. */
function aCall() {
  const number = ++count
  const text = `number ${number}.`
  return {
    made: () =>
      web.requests.filter(({ body }) => body.includes('"tools/call"') && body.includes(text)).length,
    ...desk.of((args) => JSON.stringify(args['call']).includes(text)),
    ask: () => mesh.submit(`call ${number}`, { agent: 'caller', key: text, session: `s${number}` }),
  }
}

describe('a tool call that a rule asks about, on a mesh that is killed', () => {
  it.each(aroundEach('INSERT INTO approvals'))(
    '%s asking (%s), is not made before a person approved it',
    async (moment, row) => {
      const call = aCall()
      await writeFile(arm, `${moment} ${row}`)
      const run = await call.ask()
      await desk.restarted()
      // The outcome of the call is unknown to the agent if the mesh was killed before it could answer.
      const approval = moment === 'after' ? await call.asked() : null
      expect(call.made()).toBe(0)
      if (approval !== null) {
        await desk.confirm(approval)
        expect((await call.settled()).state).toBe('done')
      }
      await mesh.ended(run)
      const asked = await call.approvals()
      expect(asked.length).toBeLessThanOrEqual(1)
      expect(call.made()).toBe(asked.filter(({ state }) => state === 'done').length)
    },
  )

  it.each([
    ...aroundEach('UPDATE approvals', 'INSERT INTO effect'),
    ...aroundEach('UPDATE effect', '2x UPDATE approvals', 'INSERT OR IGNORE INTO run_inbox'),
  ])('%s a row of carrying out (%s), is made at most once', async (moment, row) => {
    const call = aCall()
    await call.ask()
    const approval = await call.asked()
    await writeFile(arm, `${moment} ${row}`)
    await desk.confirm(approval).catch(() => undefined)
    await desk.restarted()
    const [now] = await call.approvals()
    if (now?.state === 'pending') {
      expect(call.made()).toBe(0)
      await desk.confirm(now)
    }
    const { state } = await call.settled()
    // A call that may have been made is not reported as done, and is not repeated.
    expect([state, call.made()]).toEqual(
      call.made() === 0 || (moment === 'before' && row === 'UPDATE effect')
        ? ['failed', call.made()]
        : ['done', 1],
    )
    expect((await desk.confirm(approval)).status).toBe(409)
    await mesh.kill9()
    await mesh.restart()
    expect(call.made()).toBeLessThanOrEqual(1)
  })

  it.each([
    ['expired', 'expires_at = 1', 'expired'],
    ['has other arguments', "args = json_set(args, '$.call.arguments.more', 'x')", 'failed'],
  ])('after the approval, and %s when the mesh is back, is not made', async (_what, change, state) => {
    const call = aCall()
    await call.ask()
    const approval = await call.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.confirm(approval).catch(() => undefined)
    await desk.killed()
    desk.changeRow(approval.id, change)
    await mesh.restart()
    expect((await call.settled()).state).toBe(state)
    expect(call.made()).toBe(0)
  })

  it('after it was rejected is never made, whatever is called then', async () => {
    const call = aCall()
    await call.ask()
    const approval = await call.asked()
    await writeFile(arm, 'after UPDATE approvals')
    await desk.reject(approval).catch(() => undefined)
    await desk.restarted()
    expect((await call.settled()).state).toBe('cancelled')
    expect((await desk.confirm(approval)).status).toBe(409)
    expect(call.made()).toBe(0)
  })
})
