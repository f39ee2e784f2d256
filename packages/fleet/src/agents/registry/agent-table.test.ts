import { expect, test } from 'vitest'
import { migrated } from '../../../../testing/src/ledger-harness.ts'
import type { Database } from '../../../../foundation/src/storage/database.ts'
import { createAgentTable } from './agent-table.ts'

const record = (id: string) => ({
  id,
  kind: 'worker' as const,
  role: 'r',
  model: null,
  instructions: '',
  budget: { dailyUsd: 1, monthlyUsd: 2 },
  project: null,
  createdAt: 0,
})

/** Returns the database, and a function that returns the statements prepared since its previous call. */
function observed(): { readonly database: Database; readonly asked: () => readonly string[] } {
  const statements: string[] = []
  const database = new Proxy(migrated(), {
    get: (target, name: keyof Database) =>
      name === 'prepare'
        ? (sql: string) => {
            statements.push(sql)
            return target.prepare(sql)
          }
        : target[name],
  })
  return { database, asked: () => statements.splice(0) }
}

test('a list of all agents reads the database only after a change, and then only the agents that changed', () => {
  const { database, asked } = observed()
  const table = createAgentTable(database)
  for (const id of ['b', 'a', 'c']) table.insert(record(id))
  const ids = () => table.list().map((row) => row.record.id)
  expect(ids()).toEqual(['a', 'b', 'c'])
  asked()
  for (let times = 0; times < 100; times++) table.list()
  expect(asked()).toEqual([])
  table.setBudget('b', { dailyUsd: 3, monthlyUsd: 4 })
  asked()
  expect(table.list().map((row) => row.record.budget.dailyUsd)).toEqual([1, 3, 1])
  expect(asked()).toHaveLength(1)
  table.remove('a')
  expect(ids()).toEqual(['b', 'c'])
})

test('a list of all agents has none that a rollback took back, and all that it gave back', () => {
  const { database } = observed()
  const table = createAgentTable(database)
  table.insert(record('a'))
  const ids = () => table.list().map((row) => row.record.id)
  expect(() =>
    database.transaction(() => {
      table.insert(record('b'))
      table.remove('a')
      expect(ids()).toEqual(['b'])
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  expect(ids()).toEqual(['a'])
})
