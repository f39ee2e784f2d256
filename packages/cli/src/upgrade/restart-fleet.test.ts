import { copyFileSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { databaseBack, databaseCopies } from './restart-fleet.ts'

function aHome() {
  const home = mkdtempSync(join(tmpdir(), 'upgrade-'))
  const data = join(home, 'data')
  mkdirSync(data)
  const path = join(data, 'mesh.db')
  const asked = <Result>(ask: (database: DatabaseSync) => Result): Result => {
    const database = new DatabaseSync(path)
    try {
      return ask(database)
    } finally {
      database.close()
    }
  }
  asked((database) =>
    database.exec("PRAGMA journal_mode = wal; CREATE TABLE said (words); INSERT INTO said VALUES ('old')"),
  )
  return {
    home,
    path,
    asked,
    said: () =>
      asked((database) =>
        database
          .prepare('SELECT words FROM said')
          .all()
          .map((row) => row['words']),
      ),
    /**
     * Changes the database as a newer release does. The last writes are in its write-ahead log, as after a kill.
     */
    changed() {
      asked((database) => {
        database.exec(`VACUUM INTO '${path}.before-2.new'; INSERT INTO said VALUES ('new')`)
        copyFileSync(`${path}-wal`, `${path}-kept`)
      })
      copyFileSync(`${path}.before-2.new`, `${path}.before-2`)
      copyFileSync(`${path}-kept`, `${path}-wal`)
    },
    files: () => readdirSync(data).filter((name) => /before-2$|wal|shm/.test(name)),
  }
}

it('an upgrade puts the database from before in the place of the one that a newer release has changed, and of its log', async () => {
  const { home, said, changed, files } = aHome()
  const before = await databaseCopies(home)
  changed()
  expect(await databaseBack(home, before)).toBe(true)
  expect(files()).toEqual([])
  expect(said()).toEqual(['old'])
})

it('an upgrade knows a copy of this upgrade from one of the same name that an earlier try has left', async () => {
  const { home, path, asked, said, changed } = aHome()
  copyFileSync(path, `${path}.before-2`)
  asked((database) => database.exec("INSERT INTO said VALUES ('between')"))
  const before = await databaseCopies(home)
  expect(before).toHaveLength(1)
  changed()
  expect(await databaseBack(home, before)).toBe(true)
  expect(said()).toEqual(['old', 'between'])
})

it('an upgrade leaves a database alone of which no copy was made', async () => {
  const { home, path, said } = aHome()
  copyFileSync(path, `${path}.before-1`)
  const before = await databaseCopies(home)
  expect(await databaseBack(home, before)).toBe(false)
  expect(said()).toEqual(['old'])
})
