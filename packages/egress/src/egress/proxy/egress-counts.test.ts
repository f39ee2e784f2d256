import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { openDatabase } from '../../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../../foundation/src/storage/migrate.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createEgressCountTable } from './egress-count-table.ts'
import { countedHostsMax, createEgressCounts, otherHosts, writtenRefusalsMax } from './egress-counts.ts'

function harness() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  onTestFinished(() => database.close())
  const journal = collectJournal()
  const again = () =>
    createEgressCounts({
      table: createEgressCountTable(database),
      database,
      journal,
      clock: systemClock,
      log: silentLog,
    })
  return { counts: again(), again, journal }
}

describe('counts of outbound connections', () => {
  test('counts add up over restarts, and a new host is recorded at once', () => {
    const { counts, again, journal } = harness()
    counts.opened('scout', 'a.test')
    expect(journal.entries).toMatchObject([{ action: 'proxy.opened', subject: 'a.test' }])
    counts.opened('scout', 'a.test')
    counts.moved('scout', 'a.test', { out: 3, in: 5 })
    expect(journal.entries).toHaveLength(1)
    counts.flush()
    const later = again()
    later.moved('scout', 'a.test', { out: 1, in: 1 })
    expect(later.list(10)).toEqual([
      { agentId: 'scout', host: 'a.test', connections: 2, refused: 0, bytesOut: 4, bytesIn: 6 },
    ])
    expect(journal.entries.map(({ action }) => action)).toEqual(['proxy.opened', 'proxy.used', 'proxy.used'])
    later.forget('scout')
    expect(later.list(10)).toEqual([])
  })

  test('each agent has a bounded number of rows, however many hosts it reaches', () => {
    const { counts } = harness()
    for (let index = 0; index < countedHostsMax + 50; index++) {
      counts.opened('scout', `h${index}.test`)
      if (index % 40 === 0) counts.flush()
    }
    const rows = counts.list(10_000)
    expect(rows).toHaveLength(countedHostsMax + 1)
    expect(rows.find(({ host }) => host === otherHosts)?.connections).toBe(50)
  })

  test('names that were never reached share one row and do not fill the audit log', () => {
    const { counts, journal } = harness()
    for (let index = 0; index < 500; index++) counts.refused('scout', `x${index}.test`, 'address-refused')
    expect(journal.entries).toHaveLength(writtenRefusalsMax)
    expect(counts.list(10)).toMatchObject([{ host: otherHosts, refused: 500, connections: 0 }])
  })
})
