import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createJournal } from './journal-table.ts'
import { createOutsideReads } from './outside-reads.ts'

test('the places that an agent has read from since a time are found, the last use first', async () => {
  const database = migrated()
  const clock = createManualClock()
  const journal = createJournal({ database, clock })
  const append = (action: string, subject: string, detail: Record<string, string> = {}) =>
    journal.append({ actor: 'agent:a', action, subject, detail })
  append('http.requested', 'before.org')
  await clock.advance(1000)
  const since = clock.now()
  append('proxy.opened', 'example.org')
  append('mcp.exchanged', 'mcp.example.org', { server: 'tickets' })
  journal.append({ actor: 'agent:b', action: 'http.requested', subject: 'of-b.org', detail: {} })
  append('web.searched', 'brave')
  append('run.settled', 'run_1')
  await clock.advance(1000)
  append('browser.acted', 'news.org')
  // An empty page has no host.
  append('browser.acted', '')
  append('proxy.used', 'example.org')

  const reads = createOutsideReads(database)
  expect(reads('a', since).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'host example.org',
    'host news.org',
    'web-search brave',
    'mcp-server tickets',
  ])
  expect(reads('c', 0)).toEqual([])
})

test('only the entries of one agent since a time are searched, by an index', () => {
  const database = migrated()
  const prepare = database.prepare.bind(database)
  const plans: unknown[] = []
  const watched = {
    ...database,
    prepare: (sql: string) => {
      plans.push(...prepare(`EXPLAIN QUERY PLAN ${sql}`).all('agent:a', 0))
      return prepare(sql)
    },
  }
  createOutsideReads(watched)('a', 0)
  expect(JSON.stringify(plans)).toContain(
    'SEARCH journal USING INDEX journal_outside_reads (actor=? AND at>?)',
  )
})
