import { expect, test } from 'vitest'
import { openDatabase } from '../database.ts'
import { migrate } from '../migrate.ts'
import { allMigrations } from './all-migrations.ts'
import { hourlySpendMigration } from './20261129020000-hourly-spend.ts'

test('calls of earlier releases are summed by hour and kind of run', () => {
  const database = openDatabase(':memory:')
  migrate(
    database,
    allMigrations.filter(({ version }) => version < hourlySpendMigration.version),
  )
  database
    .prepare(
      `INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, depth, trace_id, created_at,
        queued_since, available_at) VALUES ('run_1', 'a', 'task', '{}', '{}', 'done', 1, 1, 1, 0, 't', 1, 1, 1)`,
    )
    .run()
  const spend = database.prepare(
    `INSERT INTO spend (id, agent_id, run_id, model, state, day, reserved_nano, cost_nano, prompt_tokens,
      completion_tokens, opened_at, unconfirmed) VALUES (?, 'a', ?, 'm', ?, '2026-11-28', 0, ?, 30, 10, ?, ?)`,
  )
  const at = Date.parse('2026-11-28T14:59:59Z')
  spend.run('1', 'run_1', 'settled', 5, at, null)
  spend.run('2', 'run_1', 'settled', 7, at - 60_000, 'broken-off')
  spend.run('3', null, 'settled', 11, at + 1000, null)
  spend.run('4', 'run_1', 'open', 13, at, null)
  migrate(database, allMigrations)
  const rows = database
    .prepare(
      'SELECT hour, kind, cost_nano, unconfirmed_nano, calls, prompt_tokens FROM spend_hourly ORDER BY hour',
    )
    .all()
  expect(rows).toEqual([
    { hour: '2026-11-28T14', kind: 'task', cost_nano: 12, unconfirmed_nano: 7, calls: 2, prompt_tokens: 60 },
    { hour: '2026-11-28T15', kind: '', cost_nano: 11, unconfirmed_nano: 0, calls: 1, prompt_tokens: 30 },
  ])
})
