import { describe, expect, test } from 'vitest'
import type { Database } from '../storage/database.ts'
import { aJournalHarness } from '../../../testing/src/journal-harness.ts'
import { prunedStepRows } from './prune-journal.ts'

const dayMs = 24 * 3600_000

/** Ten rows, one of which was changed and then accepted by a person, and two later rows. */
async function anAccepted(options: Parameters<typeof aJournalHarness>[0] = {}) {
  const mesh = await aJournalHarness(options)
  mesh.write(10)
  mesh.keeper.verify()
  mesh.database.exec(
    "UPDATE journal SET subject = 'x' WHERE seq = 3; UPDATE journal SET seq = -4 WHERE seq = 2",
  )
  mesh.keeper.accept('human:cli')
  mesh.write(2)
  expect(mesh.verify()).toMatchObject({ ok: true, rows: 2, after: 12 })
  return mesh
}

describe('rows that a person accepted unchanged', () => {
  test.each<[string, (database: Database) => void]>([
    ['one is changed', (database) => database.exec("UPDATE journal SET subject = 'y' WHERE seq = 7")],
    [
      'one is changed back',
      (database) => database.exec("UPDATE journal SET subject = 'run_2' WHERE seq = 3"),
    ],
    ['one is cut off', (database) => database.exec('DELETE FROM journal WHERE seq = -4')],
    ['all are cut off', (database) => database.exec('DELETE FROM journal WHERE seq < 12')],
    [
      'one is put among them',
      (database) =>
        database.exec(
          "INSERT INTO journal SELECT 2, at, actor, action, 'z', detail, previous_hash, hash FROM journal WHERE seq = 4",
        ),
    ],
  ])('are not accepted otherwise: it shows when %s', async (_what, rewrite) => {
    const mesh = await anAccepted()
    mesh.keeper.verify()
    rewrite(mesh.database)
    expect(mesh.verify()).toMatchObject({
      ok: false,
      detail: 'the rows up to 11 differ from those that were accepted',
    })
    expect(mesh.keeper.accept('human:cli')).toContain('differ from those that were accepted')
    expect(mesh.verify()).toMatchObject({ ok: true })
  })

  test('rows that a person accepted unchanged are pruned in blocks, each compared before it goes, and the rest is still compared', async () => {
    const mesh = await aJournalHarness({ rowsMax: 1000 })
    mesh.database.transaction(() => mesh.write(prunedStepRows * 2))
    mesh.database.exec("UPDATE journal SET subject = 'x' WHERE seq = 3")
    mesh.keeper.accept('human:cli')
    mesh.keeper.maintain()
    expect(mesh.database.prepare('SELECT min(seq) AS first FROM journal').get()).toEqual({
      first: prunedStepRows + 1,
    })
    expect(mesh.verify()).toMatchObject({ ok: true })
    mesh.database.exec(`UPDATE journal SET subject = 'y' WHERE seq = ${prunedStepRows + 7}`)
    expect(mesh.verify()).toMatchObject({ ok: false })
    mesh.database.transaction(() => mesh.write(2000))
    mesh.keeper.maintain()
    expect(mesh.keeper.broken()).toContain('differ from those that were accepted')
  })

  test.each([
    ['a block that looks pruned', 'DELETE FROM journal WHERE seq <= 11'],
    [
      'a row before what was pruned',
      'INSERT INTO journal SELECT 1, at, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq = 12',
    ],
  ])('rows that a person accepted unchanged show %s', async (_what, sql) => {
    const mesh = await anAccepted({ keepDays: 1 })
    if (sql.startsWith('INSERT')) {
      await mesh.clock.advance(1.5 * dayMs)
      mesh.write(1)
      mesh.keeper.maintain()
      expect(mesh.keeper.broken()).toBeNull()
    }
    mesh.database.exec(sql)
    expect(mesh.verify()).toMatchObject({ ok: false })
  })

  test('rows that a person accepted unchanged leave a chain that holds when they and the row of the acceptance are too old', async () => {
    const mesh = await aJournalHarness({ keepDays: 1 })
    mesh.write(10)
    mesh.database.exec("UPDATE journal SET subject = 'x' WHERE seq = 3")
    mesh.keeper.accept('human:cli')
    await mesh.clock.advance(0.7 * dayMs)
    mesh.write(2)
    await mesh.clock.advance(0.7 * dayMs)
    for (let minute = 0; minute < 3; minute++) {
      mesh.keeper.maintain()
      expect(mesh.verify()).toMatchObject({ ok: true })
    }
    expect(mesh.database.prepare('SELECT min(seq) AS first FROM journal').get()).toEqual({ first: 13 })
    expect(mesh.keeper.broken()).toBeNull()
  })
})

test('a row before the first is reported, and not pruned silently', async () => {
  const mesh = await aJournalHarness({ keepDays: 1 })
  mesh.write(3)
  mesh.keeper.verify()
  mesh.database.exec(
    'INSERT INTO journal SELECT -4, 0, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq = 2',
  )
  mesh.keeper.maintain()
  expect(mesh.keeper.broken()).toBe('row -4: the audit log has a row before its first row')
})
