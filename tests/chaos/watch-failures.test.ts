import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openNotes } from './open-notes.ts'
import { processGround } from './process-ground.ts'
import { watchFailures } from './watch-failures.ts'

const options = { runtime: 'kubernetes', seed: 7, runs: 60 } as const

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-notes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Creates a home with the columns that are read here, and one run for each outcome. */
function aHome(): { readonly home: string; readonly ledger: DatabaseSync } {
  const home = aFolder()
  mkdirSync(join(home, 'data'))
  const ledger = new DatabaseSync(join(home, 'data', 'mesh.db'))
  onTestFinished(() => ledger.close())
  ledger.exec(`CREATE TABLE runs (id TEXT, agent_id TEXT, state TEXT, outcome TEXT);
    CREATE TABLE journal (seq INTEGER PRIMARY KEY, action TEXT, subject TEXT, detail TEXT);
    INSERT INTO runs VALUES ('run_1', 'operator', 'failed', '{"code":"internal-error"}'), ('run_2', 'left', 'done', '{}'),
      ('run_3', 'left', 'cancelled', '{}'), ('run_4', 'left', 'running', NULL);
    INSERT INTO journal (action, subject, detail) VALUES ('run.settled', 'run_1', '{}'), ('run.settled', 'run_2', '{}'),
      ('task.ended', 'task_1', '{"run":"run_1"}');`)
  return { home, ledger }
}

const line = (said: Readonly<Record<string, unknown>>) => ({ at: 0, said })
const instance = (number: number, lines: readonly ReturnType<typeof line>[]) => ({
  number,
  lines: [...lines],
  startedAt: 0,
  killedBeforeAt: null,
  readyAt: null,
  endedAt: null,
  killed: false,
  errors: '',
})

test('a run that failed is noted once, with what journal, mesh and agent say of it', async () => {
  const { home, ledger } = aHome()
  const notes = openNotes(aFolder(), options)
  const instances = [
    instance(1, [line({ msg: 'an earlier instance', agentId: 'operator' })]),
    instance(2, [line({ runId: 'run_1', msg: 'cut off' }), line({ agentId: 'left', msg: 'of another' })]),
  ]
  const ground = { ...processGround(home), agentLog: async () => 'one line\nthe reason\n' }
  const { look } = watchFailures({ home, ground, supervisor: { instances } }, notes)
  await look()
  ledger.exec("UPDATE runs SET state = 'failed', outcome = '{}' WHERE id = 'run_4'")
  await look()
  const noted = readFileSync(notes.path, 'utf8').trim().split('\n')
  expect(noted.map((text) => JSON.parse(text).what)).toEqual([
    'run_1 of operator failed: {"code":"internal-error"}',
    'run_4 of left failed: {}',
  ])
  const { journal, mesh, agent } = JSON.parse(noted[0] ?? '').evidence
  expect(journal.map((row: string) => JSON.parse(row).seq)).toEqual([3, 1])
  expect(mesh).toEqual([
    'instance 1 {"msg":"an earlier instance","agentId":"operator"}',
    'instance 2 {"runId":"run_1","msg":"cut off"}',
  ])
  expect(agent).toEqual(['one line', 'the reason'])
  expect(notes.tell()).toMatch(/run_1 of operator failed[^]*agent: the reason[^]*run_4 of left failed/)
})

test('an agent that says nothing any more is no reason to note nothing', async () => {
  const { home } = aHome()
  const notes = openNotes(aFolder(), options)
  const ground = { ...processGround(home), agentLog: () => Promise.reject(new Error('it has no pod')) }
  await watchFailures({ home, ground, supervisor: { instances: [] } }, notes).look()
  expect(notes.tell()).toContain('agent: its log cannot be read: it has no pod')
})

test('the number of notes is bounded, in the file and in the report', () => {
  const notes = openNotes(aFolder(), options)
  expect(notes.tell()).toBe('Nothing was noted.')
  for (let at = 0; at < 600; at++) notes.put({ what: `what ${at}`, evidence: {} })
  expect(readFileSync(notes.path, 'utf8').trim().split('\n')).toHaveLength(500)
  expect(notes.tell().split('\n').slice(-2)).toEqual([
    '... and 480 more',
    'Nothing was noted any more after 500.',
  ])
})
