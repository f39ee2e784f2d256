import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../packages/foundation/src/storage/database.ts'
import { allMigrations } from '../../packages/foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../packages/foundation/src/storage/migrate.ts'
import { checkEffects } from './checks/check-effects.ts'
import { aCall, someFacts } from './checks/some-facts.ts'
import { gatherRows, openEnds } from './gather-rows.ts'
import { sharedKey } from './steps.ts'

/** Creates a home whose database has these rows beside the tables of the product. */
function aHome(sql: string): string {
  const home = mkdtempSync(join(tmpdir(), 'rows-'))
  for (const folder of ['data', 'config']) mkdirSync(join(home, folder))
  const database = openDatabase(join(home, 'data', 'mesh.db'))
  migrate(database, allMigrations)
  for (const statement of sql.split(';').filter((part) => part.trim() !== ''))
    database.prepare(statement).run()
  database.close()
  return home
}

const journal = (seq: number, action: string, subject: string) =>
  `INSERT INTO journal VALUES (${seq}, 1, 'agent:left', '${action}', '${subject}', '{"version":${seq}}', '', '');`
const run = (id: string, outcome: string, { message = 'Plan c1: board.', session = 'c1' } = {}) =>
  `INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, depth, trace_id, created_at, queued_since, available_at, outcome)
   VALUES ('${id}', 'left', 'chat', '{"kind":"human"}', '{"kind":"chat","message":"${message}","session":"${session}"}', 'queued', 1, 1, 1, 0, 't', 1, 1, 1, ${outcome});`

test('an empty database of the product has all that is read, and nothing open', async () => {
  const home = aHome('')
  const rows = await gatherRows(home)
  expect(rows.runs).toEqual([])
  expect(openEnds(home)).toEqual([])
})

test('each effect is found under the id of its call, wherever it was made', async () => {
  const home = aHome(
    [
      journal(1, 'blackboard.written', 'output/c1.0.1'),
      journal(2, 'blackboard.written', sharedKey),
      journal(3, 'artifact.saved', 'left/c1.1.2.txt'),
      "INSERT INTO topic_signals (id, topic, from_agent, text, data, said_at) VALUES ('sig_1', 'chaos', 'left', 'c1.2.3', 'null', 1);",
      "INSERT INTO notes (id, agent_id, message, created_at) VALUES ('note_1', 'left', 'c1.3.4', 1);",
      "INSERT INTO notes (id, agent_id, message, created_at) VALUES ('note_2', 'left', 'A job failed.', 1);",
      "INSERT INTO messages (id, sender, recipient, text, asking_run_id, root_run_id, state, created_at) VALUES ('msg_1', 'left', 'right', 'Link c1.6.7. Plan c1-7: post.', 'run_1', 'run_1', 'sent', 1);",
      "INSERT INTO task_history (task_id, at, actor, action, state, words) VALUES ('task_1', 1, 'agent:left', 'progress', 'working', 'Far by c1.7.8.');",
      "INSERT INTO agents (id, kind, role, instructions, budget_daily_usd, budget_monthly_usd, created_at, state_since) VALUES ('made-h1-4-5', 'worker', '', '', 1, 1, 1, 1);",
    ].join(''),
  )
  writeFileSync(
    join(home, 'config', 'cron.json'),
    JSON.stringify({ jobs: [{ id: 'cron_1', agent: 'left', message: 'c1.5.6' }] }, null, 2),
  )
  const { effects, versions } = await gatherRows(home)
  expect(effects.map(({ callId }) => callId).sort()).toEqual([
    'c1.0.1',
    'c1.1.2',
    'c1.2.3',
    'c1.3.4',
    'c1.5.6',
    'c1.6.7',
    'c1.7.8',
    'h1.4.5',
  ])
  expect(versions.get(sharedKey)).toEqual([2])
})

test('a key that one call wrote twice is found', async () => {
  const home = aHome(
    journal(1, 'blackboard.written', 'output/c1.0.1') + journal(2, 'blackboard.written', 'output/c1.0.1'),
  )
  const facts = someFacts({ ...(await gatherRows(home)), calls: [aCall()] })
  expect(checkEffects(facts)).toMatchObject([
    {
      check: 'effect-twice',
      evidence: [
        'journal row 1: written as {"version":1}',
        'journal row 2: written as {"version":2}',
        'the model was told: {"version":1}',
      ],
    },
  ])
})

test('a run is known by the plan that it was asked for, and is open until it has an outcome', async () => {
  const home = aHome(run('run_1', 'NULL'))
  const { runs } = await gatherRows(home)
  expect(runs).toMatchObject([{ id: 'run_1', marker: 'c1', origin: 'human', outcome: null }])
  expect(openEnds(home)).toEqual(['1 runs that go on (run_1)'])
})

test('a run without a plan talks of the last one in its conversation, and of no other', async () => {
  const home = aHome(
    [
      run('run_1', 'NULL'),
      run('run_2', 'NULL', { message: 'Plan c2: board.', session: 'c2' }),
      run('run_3', 'NULL', { message: 'Steer s1 is said.' }),
      run('run_4', 'NULL', { message: 'Steer s2 is said.', session: 'cli' }),
    ].join(''),
  )
  const { runs } = await gatherRows(home)
  expect(runs.map(({ marker, talksOf }) => [marker, talksOf])).toEqual([
    ['c1', 'c1'],
    ['c2', 'c2'],
    [null, 'c1'],
    [null, null],
  ])
})
