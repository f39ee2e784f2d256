import { describe, expect, test } from 'vitest'
import type { Database } from '../storage/database.ts'
import { aJournalHarness, remade } from '../../../testing/src/journal-harness.ts'

const otherSubject = (row: { seq: number; subject: string }) =>
  row.seq === 8 ? { ...row, subject: 'forged' } : row

describe('a head without a seal, put there by who can write to the database alone', () => {
  test.each<[string, (database: Database) => void]>([
    ['rows made anew', (database) => remade(database, otherSubject)],
    [
      'rows cut off the end',
      (database) => {
        database.exec('DELETE FROM journal WHERE seq > 6')
        database.exec(
          "UPDATE journal_head SET seq = 6, count = 6, seal = '', hash = (SELECT hash FROM journal WHERE seq = 6)",
        )
      },
    ],
  ])('is not taken over %s after the last anchor', async (_what, forge) => {
    const mesh = await aJournalHarness()
    mesh.write(5)
    mesh.keeper.verify()
    mesh.write(10)
    mesh.database.exec('DELETE FROM journal_checkpoints')
    forge(mesh.database)
    expect(mesh.verify()).toMatchObject({
      ok: false,
      detail: 'the record of the last row was not signed with the secret of this mesh',
    })
    const anchored = mesh.anchors.read()
    const next = mesh.keeperOfALife()
    next.verify()
    expect(next.broken()).toContain('the record of the last row was not signed with the secret of this mesh')
    expect(mesh.anchors.read()).toEqual(anchored)
  })

  test('a head without a seal, put there by who can write to the database alone is not taken where nothing was anchored yet', async () => {
    const mesh = await aJournalHarness()
    mesh.write(10)
    remade(mesh.database, otherSubject)
    expect(mesh.verify()).toMatchObject({
      ok: false,
      detail: 'the record of the last row was not signed with the secret of this mesh',
    })
  })

  test('a head without a seal is rejected after an anchor, even in the first process after an upgrade', async () => {
    const mesh = await aJournalHarness({ bareHead: true })
    mesh.write(5)
    mesh.keeper.verify()
    mesh.write(10)
    mesh.database.exec('DELETE FROM journal_checkpoints')
    remade(mesh.database, otherSubject)
    mesh.keeper.verify()
    expect(mesh.keeper.broken()).toContain(
      'the record of the last row was not signed with the secret of this mesh',
    )
  })
})

describe('a head that the mesh did not seal', () => {
  test('a head that the mesh did not seal gets no seal from the next row of a mesh that runs', async () => {
    const mesh = await aJournalHarness()
    mesh.write(5)
    mesh.keeper.verify()
    mesh.write(10)
    remade(mesh.database, otherSubject)
    mesh.write(3)
    expect(mesh.verify()).toMatchObject({
      ok: false,
      detail: 'the record of the last row was not signed with the secret of this mesh',
    })
    await mesh.clock.advance(3600_000)
    mesh.keeper.maintain()
    expect(mesh.keeper.broken()).not.toBeNull()
  })

  test.each<[string, (database: Database) => void]>([
    ['is forged', (database) => remade(database, otherSubject)],
    ['is gone', (database) => database.exec('DELETE FROM journal WHERE seq > 12; DELETE FROM journal_head')],
  ])(
    '%s is as broken in later lives as in the one that told of it, until it is accepted',
    async (_w, forge) => {
      const mesh = await aJournalHarness()
      mesh.write(5)
      mesh.keeper.verify()
      mesh.write(10)
      forge(mesh.database)
      for (let life = 0; life < 3; life++) {
        const keeper = mesh.keeperOfALife()
        keeper.verify()
        expect(keeper.broken()).toMatch(
          /the record of the last row was not signed with the secret of this mesh|the record of the last row is missing/,
        )
        mesh.write(2)
        keeper.close()
      }
      const last = mesh.keeperOfALife()
      last.verify()
      last.accept('human:cli')
      mesh.write(2)
      expect(mesh.verify()).toMatchObject({ ok: true, rows: 2 })
    },
  )
})
