import { readFile, rm, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { Database } from '../storage/database.ts'
import { createJournalSeal } from './journal-seal.ts'
import { createJournal } from './journal-table.ts'
import { aJournalHarness, remade } from '../../../testing/src/journal-harness.ts'
import { createJournalKeeper } from './keep-journal.ts'
import { prunedStepRows } from './prune-journal.ts'
import { verifyJournal } from './verify-journal.ts'

const dayMs = 24 * 3600_000

const actions = (database: Database) =>
  database
    .prepare('SELECT action FROM journal ORDER BY seq')
    .all()
    .map((row) => row['action'])

describe('a sealed journal', () => {
  test('a sealed journal is intact after many restarts, each of which verifies only the new rows', async () => {
    const mesh = await aJournalHarness()
    for (let life = 0; life < 3; life++) {
      const keeper = mesh.keeperOfALife()
      keeper.verify()
      mesh.write(10)
      keeper.close()
    }
    expect(mesh.verify()).toEqual({ ok: true, rows: 30 })
    expect(mesh.verify('latest')).toEqual({ ok: true, rows: 0, after: 30 })
    expect(mesh.heard).toEqual([])
  })

  test.each<[string, (database: Database) => void]>([
    ['a changed row', (database) => database.exec("UPDATE journal SET subject = 'x' WHERE seq = 8")],
    ['a removed row', (database) => database.exec('DELETE FROM journal WHERE seq = 8')],
    [
      'swapped rows',
      (database) =>
        database.exec(
          'UPDATE journal SET seq = 99 WHERE seq = 8; UPDATE journal SET seq = 8 WHERE seq = 9; UPDATE journal SET seq = 9 WHERE seq = 99',
        ),
    ],
    ['rows cut off the end', (database) => database.exec('DELETE FROM journal WHERE seq > 12')],
    [
      'rows cut off the end, with the head set back to the last that is left',
      (database) => {
        database.exec('DELETE FROM journal WHERE seq > 12')
        database.exec(
          'UPDATE journal_head SET seq = 12, count = 12, hash = (SELECT hash FROM journal WHERE seq = 12)',
        )
      },
    ],
    [
      'a row changed with all hashes after it made anew, the head too',
      (database) => remade(database, (row) => (row.seq === 8 ? { ...row, subject: 'x' } : row)),
    ],
    [
      'all rows gone, with head and checkpoints',
      (database) =>
        database.exec('DELETE FROM journal; DELETE FROM journal_head; DELETE FROM journal_checkpoints'),
    ],
    [
      'a forged checkpoint',
      (database) =>
        database.exec(
          "INSERT INTO journal_checkpoints SELECT 14, hash, 'accepted', 0, 'x' FROM journal WHERE seq = 14",
        ),
    ],
  ])('shows %s, to a whole verification and to the start after it', async (_what, tamper) => {
    const mesh = await aJournalHarness()
    mesh.keeper.verify()
    mesh.write(5)
    mesh.keeper.close()
    mesh.write(10)
    tamper(mesh.database)
    expect(mesh.verify()).toMatchObject({ ok: false })
    const next = mesh.keeperOfALife()
    next.verify()
    expect(next.broken()).not.toBeNull()
    expect(mesh.heard).toEqual([next.broken()])
  })

  test('a sealed journal shows rows cut off behind an anchor even to who has the seal of an older head', async () => {
    const mesh = await aJournalHarness()
    mesh.write(5)
    const head = mesh.database.prepare('SELECT * FROM journal_head').get()
    mesh.write(5)
    mesh.keeper.close()
    mesh.database.exec('DELETE FROM journal WHERE seq > 5; DELETE FROM journal_checkpoints')
    mesh.database
      .prepare('UPDATE journal_head SET seq = 5, count = 5, hash = ?, seal = ?')
      .run(head?.['hash'] ?? '', head?.['seal'] ?? '')
    expect(mesh.verify()).toMatchObject({ ok: false, brokenAt: 6 })
    expect(mesh.verify().detail).toContain('journal-anchors.jsonl names row')
  })

  test.each([
    ['a changed line', (text: string) => text.replace('"kind":"verified"', '"kind":"accepted"')],
    ['an invalid line', (text: string) => `${text}x\n`],
    ['no lines', () => ''],
  ])('a sealed journal shows %s in the file of anchors', async (_what, change) => {
    const mesh = await aJournalHarness()
    mesh.write(5)
    mesh.keeper.close()
    await writeFile(mesh.path, change(await readFile(mesh.path, 'utf8')))
    expect(mesh.verify().detail).toContain('journal-anchors.jsonl')
  })

  test('an unsealed journal of an older release is accepted once', async () => {
    const mesh = await aJournalHarness({ bareHead: true })
    createJournal({ database: mesh.database, clock: mesh.clock }).append({
      actor: 'system',
      action: 'a.b',
      subject: 'x',
      detail: {},
    })
    mesh.keeper.verify()
    expect(mesh.keeper.broken()).toBeNull()
    mesh.database.exec("UPDATE journal_head SET seal = ''")
    expect(mesh.verify()).toMatchObject({
      ok: false,
      detail: 'the record of the last row was not signed with the secret of this mesh',
    })
  })
})

describe('a broken journal', () => {
  test('a broken journal continues, records the break in its next row, and gets no checkpoint', async () => {
    const mesh = await aJournalHarness()
    mesh.write(10)
    mesh.keeper.close()
    mesh.database.exec("UPDATE journal SET actor = 'human:cli' WHERE seq = 3; DELETE FROM journal_head")
    const next = mesh.keeperOfALife()
    mesh.write(0)
    next.verify()
    expect(next.broken()).not.toBeNull()
    const checkpoints = mesh.database.prepare('SELECT count(*) AS count FROM journal_checkpoints').get()
    mesh.write(3)
    await mesh.clock.advance(2 * 3600_000)
    next.maintain()
    next.close()
    expect(actions(mesh.database).slice(10)).toEqual(['journal.broken', ...Array(3).fill('run.settled')])
    expect(mesh.database.prepare('SELECT count(*) AS count FROM journal_checkpoints').get()).toEqual(
      checkpoints,
    )
  })

  test('a broken journal that a person accepted is verified from there on, and later changes are detected', async () => {
    const mesh = await aJournalHarness()
    mesh.write(10)
    mesh.keeper.close()
    mesh.database.exec('DELETE FROM journal WHERE seq > 7')
    const next = mesh.keeperOfALife()
    next.verify()
    next.accept('human:cli')
    expect(next.broken()).toBeNull()
    mesh.write(5)
    expect(mesh.verify()).toMatchObject({ ok: true, rows: 5 })
    next.close()
    expect(mesh.keeperOfALife().broken()).toBeNull()
    const accepted = mesh.database.prepare("SELECT * FROM journal WHERE action = 'journal.accepted'").get()
    expect(accepted).toMatchObject({ actor: 'human:cli' })
    expect(String(accepted?.['detail'])).toContain('row 10: ')
    mesh.database.prepare('DELETE FROM journal WHERE seq = ?').run(Number(accepted?.['seq']) + 2)
    expect(mesh.verify()).toMatchObject({ ok: false })
  })

  test.each<[string, (mesh: Awaited<ReturnType<typeof aJournalHarness>>) => unknown]>([
    [
      'a changed row before the last checkpoint',
      ({ database }) => database.exec("UPDATE journal SET subject = 'x' WHERE seq = 3"),
    ],
    [
      'a row that is no JSON',
      ({ database }) => database.exec("UPDATE journal SET detail = '{' WHERE seq = 3"),
    ],
    [
      'a row before the first',
      ({ database }) =>
        database.exec(
          'INSERT INTO journal SELECT -5, at, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq = 2',
        ),
    ],
    [
      'a head with a wrong count',
      ({ database }) => database.exec('UPDATE journal_head SET count = count - 2'),
    ],
    [
      'a head that was set back',
      ({ database }) => database.exec('UPDATE journal_head SET seq = 4, count = 4'),
    ],
    ['no head', ({ database }) => database.exec('DELETE FROM journal_head')],
    ['rows cut off the end', ({ database }) => database.exec('DELETE FROM journal WHERE seq > 6')],
    [
      'nothing left',
      ({ database }) =>
        database.exec('DELETE FROM journal; DELETE FROM journal_head; DELETE FROM journal_checkpoints'),
    ],
    ['a forged checkpoint', ({ database }) => database.exec("UPDATE journal_checkpoints SET seal = 'x'")],
    ['invalid anchors', ({ path }) => writeFile(path, '{"seq":1}\nx\n')],
    ['anchors that are gone', ({ path }) => rm(path)],
  ])('of %s holds once it was accepted, and says by whom and when', async (_what, tamper) => {
    const mesh = await aJournalHarness()
    mesh.write(10)
    mesh.keeper.close()
    await tamper(mesh)
    expect(mesh.verify()).toMatchObject({ ok: false })
    const next = mesh.keeperOfALife()
    next.verify()
    const was = next.accept('human:cli')
    expect(was).toMatch(/^row -?\d+: /)
    expect(next.broken()).toBeNull()
    mesh.write(3)
    expect(mesh.verify()).toMatchObject({
      ok: true,
      rows: 3,
      accepted: { by: 'human:cli', at: mesh.clock.now(), was },
    })
    next.close()
    const later = mesh.keeperOfALife()
    later.verify()
    expect(later.broken()).toBeNull()
    expect(later.accept('human:cli')).toBeNull()
  })

  test('sealed under another secret holds once it was accepted, though all its anchors are strange', async () => {
    const mesh = await aJournalHarness()
    mesh.write(10)
    mesh.keeper.close()
    const seal = createJournalSeal('another secret')
    const journal = createJournal({ database: mesh.database, clock: mesh.clock, seal })
    const keeper = createJournalKeeper({
      ...mesh,
      journal,
      seal,
      retention: () => ({ keep_days: 365, max_rows: 1000 }),
      onBroken: () => {},
    })
    keeper.verify()
    expect(keeper.broken()).toContain('a checkpoint was not signed with the secret of this mesh')
    keeper.accept('human:cli')
    expect(verifyJournal(mesh.database, { ...mesh, seal })).toMatchObject({
      ok: true,
      accepted: { by: 'human:cli' },
    })
    keeper.close()
    expect(verifyJournal(mesh.database, { ...mesh, seal })).toMatchObject({ ok: true })
  })

  test('a broken journal cannot be attributed to another person', async () => {
    const mesh = await aJournalHarness()
    mesh.write(4)
    mesh.database.exec('DELETE FROM journal WHERE seq = 2')
    mesh.keeper.verify()
    mesh.keeper.accept('human:cli')
    mesh.database.exec("UPDATE journal SET actor = 'human:boss' WHERE action = 'journal.accepted'")
    expect(mesh.verify()).toMatchObject({ ok: false, detail: 'the row was changed' })
  })

  test('a broken journal is noticed within the hour while the mesh runs', async () => {
    const mesh = await aJournalHarness()
    mesh.keeper.verify()
    mesh.write(10)
    mesh.database.exec("UPDATE journal SET subject = 'x' WHERE seq = 4")
    mesh.keeper.maintain()
    expect(mesh.keeper.broken()).toBeNull()
    await mesh.clock.advance(3600_000)
    mesh.keeper.maintain()
    expect(mesh.keeper.broken()).toBe('row 4: the row was changed')
    expect(mesh.heard).toHaveLength(1)
  })
})

describe('pruning', () => {
  test('pruning removes old rows, leaves a sealed checkpoint, and records the pruning', async () => {
    const mesh = await aJournalHarness({ keepDays: 2 })
    mesh.write(10)
    await mesh.clock.advance(1.5 * dayMs)
    mesh.write(10)
    mesh.keeper.maintain()
    expect(mesh.verify()).toEqual({ ok: true, rows: 20 })
    await mesh.clock.advance(dayMs)
    mesh.keeper.maintain()
    expect(mesh.verify()).toEqual({ ok: true, rows: 11, after: 10 })
    expect(actions(mesh.database).at(-1)).toBe('journal.pruned')
    mesh.database.exec('DELETE FROM journal WHERE seq = 11')
    expect(mesh.verify()).toMatchObject({ ok: false, brokenAt: 12 })
  })

  test('pruning limits the number of rows, in small steps', async () => {
    const mesh = await aJournalHarness({ rowsMax: 1000 })
    mesh.database.transaction(() => mesh.write(prunedStepRows + 2000))
    mesh.keeper.maintain()
    expect(mesh.verify()).toMatchObject({ ok: true, after: prunedStepRows })
    mesh.keeper.maintain()
    mesh.keeper.maintain()
    const { rows } = mesh.verify()
    expect(rows).toBeGreaterThanOrEqual(1000)
    expect(rows).toBeLessThanOrEqual(1002)
  })

  test('pruning all rows leaves a valid chain that accepts new rows', async () => {
    const mesh = await aJournalHarness({ keepDays: 1 })
    mesh.write(5)
    await mesh.clock.advance(3 * dayMs)
    mesh.keeper.maintain()
    mesh.write(5)
    mesh.keeper.close()
    expect(mesh.verify()).toMatchObject({ ok: true, after: 5, rows: 6 })
  })

  test('pruning cannot hide a tampered row: it is kept and reported', async () => {
    const mesh = await aJournalHarness({ keepDays: 1 })
    mesh.write(10)
    mesh.database.exec("UPDATE journal SET subject = 'x' WHERE seq = 4")
    await mesh.clock.advance(1000)
    await mesh.clock.advance(3 * dayMs)
    mesh.keeper.maintain()
    expect(mesh.keeper.broken()).toBe('row 4: the row was changed')
    expect(actions(mesh.database)).toHaveLength(11)
  })
})
