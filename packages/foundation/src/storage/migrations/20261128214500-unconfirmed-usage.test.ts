import { expect, test } from 'vitest'
import { openDatabase } from '../database.ts'
import { migrate } from '../migrate.ts'
import { allMigrations } from './all-migrations.ts'
import { unconfirmedUsageMigration } from './20261128214500-unconfirmed-usage.ts'

test('runs of earlier releases get the sums of their calls of unknown usage', () => {
  const database = openDatabase(':memory:')
  migrate(
    database,
    allMigrations.filter(({ version }) => version < unconfirmedUsageMigration.version),
  )
  for (const id of ['broken', 'whole']) {
    database
      .prepare(
        `INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, depth, trace_id, created_at,
          queued_since, available_at) VALUES (?, 'a', 'chat', '{}', '{}', 'done', 1, 1, 1, 0, 't', 1, 1, 1)`,
      )
      .run(id)
  }
  const spend = database.prepare(
    `INSERT INTO spend (id, agent_id, run_id, model, state, day, reserved_nano, cost_nano, prompt_tokens,
      completion_tokens, opened_at, unconfirmed) VALUES (?, 'a', ?, 'm', 'settled', '2026-11-28', 0, ?, 30, 10, 1, ?)`,
  )
  spend.run('1', 'broken', 2_000_000, 'broken-off')
  spend.run('2', 'broken', 3_000_000, 'no-usage')
  spend.run('3', 'broken', 4_000_000, null)
  spend.run('4', 'whole', 5_000_000, null)
  migrate(database, allMigrations)
  const rows = database.prepare('SELECT id, unconfirmed_usd, unconfirmed_tokens FROM runs ORDER BY id').all()
  expect(rows).toEqual([
    { id: 'broken', unconfirmed_usd: 0.005, unconfirmed_tokens: 80 },
    { id: 'whole', unconfirmed_usd: 0, unconfirmed_tokens: 0 },
  ])
})
