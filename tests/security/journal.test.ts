import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyEndpoints } from '@flotilla/protocol/money-api'
import { CloudEvent } from 'cloudevents'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { copyMeshForTest, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

/** Two used homes, of which tests get copies: one whose first mesh was killed, and one that was stopped. */
let mesh: MeshProcess
const killed = { home: '' }
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { plain: aCassette({ turns: [says('Yes.')] }) } })
  await mesh.ask('hello')
  await mesh.kill9()
  for (const { pid } of await mesh.agentProcesses()) process.kill(-pid, 'SIGKILL')
  killed.home = await mkdtemp(join(tmpdir(), 'flotilla-killed-'))
  await cp(mesh.home, killed.home, { recursive: true })
  await mesh.restart()
  await mesh.terminate()
})
afterAll(() => mesh?.stop())
const aStoppedMesh = () => copyMeshForTest(mesh)
const aKilledMesh = () => copyMeshForTest(killed)

interface Row {
  readonly type: string
  readonly subject: string
  readonly data: { readonly actor: string; readonly detail: Record<string, unknown> }
}

async function rowsOf(
  mesh: MeshProcess,
  query: Record<string, string | number> = {},
): Promise<readonly Row[]> {
  const reply = await mesh.call(journalEndpoints.journalExport, { query })
  expect(reply.headers['content-type']).toContain('application/x-ndjson')
  const lines = reply.text.split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => {
    const event = JSON.parse(line) as Record<string, unknown>
    expect(new CloudEvent(event).validate()).toBe(true)
    return event as unknown as Row
  })
}

/** Changes the database as an attacker can who has write access to it alone. */
function tamper(mesh: MeshProcess, sql: string): void {
  const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
  database.exec(sql)
  database.close()
}

const readiness = async (mesh: MeshProcess) => (await mesh.call(meshHumanEndpoints.readyz)).json()

describe('the journal of a running mesh', () => {
  it('the journal of a running mesh holds lifecycle, grants by hand, budgets, spending and runs, and is exported by filter', async () => {
    const mesh = await aStoppedMesh()
    await mesh.restart()
    await mesh.createWorker('scout')
    await mesh.ask('hello', { agent: 'scout' })
    await mesh.call(moneyEndpoints.budgetSet, { body: { scope: 'agent', id: 'scout', daily_usd: 5 } })
    const path = join(mesh.home, 'config', 'permissions.json')
    const file = JSON.parse(await readFile(path, 'utf8')) as {
      permissions: Record<string, Record<string, unknown>>
    }
    file.permissions['scout'] = { ...file.permissions['scout'], can_spawn: true }
    await writeFile(path, JSON.stringify(file))
    const changed = await eventually('the edit is journaled', async () =>
      (await rowsOf(mesh, { action: 'permission.changed' })).at(-1),
    )
    expect(changed).toMatchObject({
      subject: 'scout',
      data: { actor: 'human:file', detail: { can_spawn: { from: false, to: true } } },
    })
    const types = new Set((await rowsOf(mesh)).map(({ type }) => type.replace('flotilla.journal.', '')))
    expect([...types]).toEqual(
      expect.arrayContaining([
        'mesh.started',
        'agent.created',
        'agent.started',
        'permission.granted',
        'run.submitted',
        'run.settled',
        'spend.settled',
        'budget.changed',
      ]),
    )
    const [spend] = await rowsOf(mesh, { action: 'spend.settled', agent: 'scout' })
    expect(spend).toMatchObject({
      data: { actor: 'agent:scout', detail: { model: 'scripted/plain', calls: 1, cost_usd: 0 } },
    })
    expect(await rowsOf(mesh, { since: Date.now() + 60_000 })).toEqual([])

    const exported = await flotilla(mesh, 'journal', 'export', '--action', 'agent.*', '--since', '1h')
    expect(exported.code, exported.err).toBe(0)
    const lines = exported.out.trim().split('\n')
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect((JSON.parse(line) as Row).type).toMatch(/^flotilla\.journal\.agent\./)
  })

  it('a journal truncated at its end, with a matching head, is detected at the next start; a person may accept it', async () => {
    const mesh = await aStoppedMesh()
    tamper(
      mesh,
      `DELETE FROM journal WHERE seq > (SELECT max(seq) - 3 FROM journal);
       UPDATE journal_head SET seq = (SELECT max(seq) FROM journal), count = (SELECT max(seq) FROM journal),
         hash = (SELECT hash FROM journal ORDER BY seq DESC LIMIT 1)`,
    )
    const verified = await flotilla({ home: mesh.home }, 'journal', 'verify')
    expect(verified.code).toBe(1)
    expect(verified.out).toContain('journal-anchors.jsonl names row')
    await mesh.restart()
    const reply = await mesh.call(meshHumanEndpoints.readyz)
    // The mesh keeps running, and every status report shows the problem.
    expect(reply.status).toBe(200)
    const told = { ready: true, problems: [{ id: 'journal-broken', stops_agents: false }] }
    expect(reply.json()).toMatchObject(told)
    expect((await mesh.call(meshHumanEndpoints.status)).json()['ready']).toMatchObject(told)
    const status = await flotilla(mesh, 'status')
    expect(status.out).toContain('Ready: agents run.')
    expect(status.out).toContain('journal-broken')
    expect(status.out).not.toContain('Not ready')
    const { lines } = await mesh.command('doctor')
    expect(lines.at(-1)?.['findings']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'ready', level: 'ok' }),
        expect.objectContaining({ id: 'journal', level: 'error' }),
      ]),
    )
    expect(mesh.log()).toContain('the audit log was modified')
    // The mesh continues to work, and the row about the finding stays.
    expect((await mesh.ask('hello', { session: 'after' })).state).toBe('done')
    expect((await rowsOf(mesh, { action: 'journal.broken' })).length).toBe(1)
    const accepted = await flotilla(mesh, 'journal', 'accept')
    expect(accepted.out).toContain('Accepted: ')
    expect(await readiness(mesh)).toMatchObject({ ready: true, problems: [] })
    await mesh.terminate()
    expect((await flotilla({ home: mesh.home }, 'journal', 'verify')).code).toBe(0)
  })

  it('a journal rebuilt with valid hashes is rejected, because its author does not know the secret', async () => {
    const mesh = await aKilledMesh()
    tamper(mesh, "UPDATE journal_head SET seal = '0000'")
    expect((await flotilla({ home: mesh.home }, 'journal', 'verify')).out).toContain(
      'the record of the last row was not signed with the secret of this mesh',
    )
  })

  it.each([
    ['while it ran for the first time', aKilledMesh],
    ['after a clean stop', aStoppedMesh],
  ])(
    'the journal of a running mesh that lost its checkpoints and the seal of its head %s is not sealed as it is',
    async (_when, aMesh) => {
      const mesh = await aMesh()
      tamper(
        mesh,
        `DELETE FROM journal_checkpoints;
       DELETE FROM journal WHERE seq > (SELECT max(seq) - 2 FROM journal);
       UPDATE journal_head SET seal = '', seq = (SELECT max(seq) FROM journal), count = (SELECT max(seq) FROM journal),
         hash = (SELECT hash FROM journal ORDER BY seq DESC LIMIT 1)`,
      )
      expect((await flotilla({ home: mesh.home }, 'journal', 'verify')).code).toBe(1)
      await mesh.restart()
      expect(await readiness(mesh)).toMatchObject({ problems: [{ id: 'journal-broken' }] })
      expect((await flotilla({ home: mesh.home }, 'journal', 'verify')).code).toBe(1)
    },
  )
})
