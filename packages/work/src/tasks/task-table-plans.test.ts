import { expect, test } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createTaskTable } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

const lists: Readonly<Record<string, (table: TaskTable) => unknown>> = {
  'stale tasks': (table) => table.staleSince(1, { limit: 1 }),
  'stale tasks of an agent': (table) => table.staleSince(1, { agentId: 'a', limit: 1 }),
  'open tasks of an agent': (table) => table.openOf('a', 1),
  'number of open tasks of an agent': (table) => table.openCount('a'),
  'given tasks': (table) => table.givenBy('a', 1),
  'tasks of a fleet': (table) => table.list({ limit: 1 }),
  'tasks in a state': (table) =>
    table.list({ agentId: 'a', project: 'p', since: 1, state: 'done', limit: 1 }),
  'states of a project': (table) => table.countsOf('p', 1),
  titles: (table) => table.titled('words', 1),
  'files of a task': (table) => table.shares('a', { ownerId: 'b', name: 'c' }),
  'tasks that need a task': (table) => table.needing('t'),
  'waiting tasks of an agent': (table) => table.waitingOf('a', 1),
  'agents with waiting tasks': (table) => table.assigneesWithWaiting(),
  'number of waiting tasks': (table) => table.waitingCount(),
  'hand-offs of a run': (table) => table.workedChildren('r'),
  'waiting hand-offs of a run': (table) => table.waitingFrom('r'),
  'open hand-offs of a task': (table) => table.openBelow('t'),
  'ended tasks': (table) => table.completedBefore(1, 1),
}

/** Returns the query plan of each statement that a list prepares, without the steps that read no table. */
function plansOf(list: (table: TaskTable) => unknown): readonly string[] {
  const database = migrated()
  try {
    const statements: string[] = []
    const observed = new Proxy(database, {
      get: (target, name: keyof typeof database) =>
        name === 'prepare'
          ? (sql: string) => {
              statements.push(sql)
              return target.prepare(sql)
            }
          : target[name],
    })
    list(createTaskTable(observed))
    expect(statements).not.toEqual([])
    return statements.flatMap((sql) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...Array.from({ length: sql.split('?').length - 1 }, () => ''))
        .map((row) => String(row['detail'])),
    )
  } finally {
    database.close()
  }
}

test.each(Object.entries(lists))('%s: no plan reads the whole table of tasks', (_name, list) => {
  const steps = plansOf(list).filter((step) => /\btasks\b/.test(step))
  expect(steps).not.toEqual([])
  for (const step of steps)
    expect(step).toMatch(
      /^SEARCH tasks USING|^SCAN tasks USING (?:COVERING )?INDEX tasks_(?:open|waiting|listed|with_artifacts)\b/,
    )
})

test('stale tasks are read in the order of their index, so that the limit ends the reading', () => {
  for (const name of ['stale tasks', 'stale tasks of an agent', 'open tasks of an agent'])
    expect(
      plansOf(lists[name] ?? (() => [])).filter((step) => step.includes('TEMP B-TREE')),
      name,
    ).toEqual([])
})
