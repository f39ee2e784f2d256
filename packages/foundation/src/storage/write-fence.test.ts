import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { patient } from '../../../../tests/support/patience.ts'
import { epochOf, openDatabase } from './database.ts'

function aPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'write-fence-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'mesh.db')
}

function opened(path: string, epoch: number) {
  const lost: string[] = []
  const time = { isOver: false }
  const fence = { epoch, mayWrite: () => !time.isOver, onLost: (why: string) => lost.push(why) }
  const database = openDatabase(path, { fence })
  onTestFinished(() => database.close())
  return { database, lost, time }
}

const tableOf = (database: { exec(sql: string): void }) =>
  database.exec('CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL) STRICT')

function wordsIn(path: string): readonly unknown[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database
      .prepare('SELECT word FROM words ORDER BY rowid')
      .all()
      .map(({ word }) => word)
  } finally {
    database.close()
  }
}

const insert = 'INSERT INTO words (word) VALUES (?)'

describe('a database behind a fence', () => {
  test('D4 takes nothing more of an earlier one, in transactions or by single statements', () => {
    const path = aPath()
    const earlier = opened(path, 1)
    tableOf(earlier.database)
    earlier.database.transaction(() => earlier.database.prepare(insert).run('before'))
    const later = opened(path, 2)
    later.database.prepare(insert).run('later')
    expect(() => earlier.database.transaction(() => earlier.database.prepare(insert).run('late'))).toThrow(
      'another mesh uses the home now',
    )
    const alone = ['run', 'get', 'all'] as const
    for (const way of alone) {
      expect(() => earlier.database.prepare(`${insert} RETURNING word`)[way]('late')).toThrow(
        'may no longer write',
      )
    }
    expect(() => earlier.database.prepare('  delete from words').run()).toThrow('may no longer write')
    expect(earlier.lost).toHaveLength(5)
    expect(later.lost).toEqual([])
    expect(wordsIn(path)).toEqual(['before', 'later'])
  })

  test('D4 a process with the same or a lower epoch cannot open the database', () => {
    const path = aPath()
    opened(path, 5)
    expect(() => opened(path, 5)).toThrow('another mesh uses the home now')
    expect(() => opened(path, 4)).toThrow('another mesh uses the home now')
    expect(epochOf(path)).toBe(5)
  })

  test('D5 commits nothing of which the time was over before its end', () => {
    const path = aPath()
    const { database, lost, time } = opened(path, 1)
    tableOf(database)
    const slow = () =>
      database.transaction(() => {
        database.prepare(insert).run('slow')
        time.isOver = true
      })
    expect(slow).toThrow('its lease has expired')
    expect(() => database.prepare(insert).run('late')).toThrow('its lease has expired')
    expect(lost).toHaveLength(2)
    expect(wordsIn(path)).toEqual([])
  })

  test('a database behind a fence calls no listener for a refused commit', () => {
    const { database, time } = opened(aPath(), 1)
    const heard: string[] = []
    const work = () =>
      database.transaction(() => {
        database.afterCommit(() => heard.push('committed'))
        time.isOver = true
      })
    expect(work).toThrow('its lease has expired')
    expect(heard).toEqual([])
  })

  test('a database behind a fence gives single statements their results', () => {
    const { database } = opened(aPath(), 1)
    tableOf(database)
    expect(database.prepare(insert).run('one').changes).toBe(1)
    expect(database.prepare(`${insert} RETURNING word`).get('two')).toEqual({ word: 'two' })
    expect(database.prepare('UPDATE words SET word = word || ? RETURNING word').all('!')).toHaveLength(2)
  })

  test('one without a fence has no epoch, nor has one that is not there', () => {
    const path = aPath()
    expect(epochOf(path)).toBe(0)
    const database = openDatabase(path)
    tableOf(database)
    database.close()
    expect(epochOf(path)).toBe(0)
  })
})

/** A process that writes repeatedly and whose fence always allows it, like one whose clock stopped. */
const writer = `
import { openDatabase } from ${JSON.stringify(join(import.meta.dirname, 'database.ts'))}
const fence = { epoch: 1, mayWrite: () => true, onLost: (why) => { console.log('lost ' + why); process.exit(3) } }
const database = openDatabase(process.argv[1], { fence })
database.exec('CREATE TABLE words (word TEXT NOT NULL) STRICT')
for (let count = 0; ; count++) {
  database.transaction(() => database.prepare('INSERT INTO words (word) VALUES (?)').run('earlier'))
  if (count === 20) console.log('writes')
}`

test('a process that was halted while it wrote, and wakes up after another began, writes nothing more', async () => {
  const path = aPath()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', writer, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('writes')
  // The writer may be stopped within a transaction and hold the lock, so it is resumed until the lock is free.
  let later: ReturnType<typeof opened> | null = null
  while (later === null) {
    child.kill('SIGSTOP')
    try {
      later = opened(path, 2)
    } catch (error) {
      expect(String(error)).toContain('locked')
      const count = wordsIn(path).length
      child.kill('SIGCONT')
      // A busy machine would otherwise stop it again before it ran.
      await vi.waitFor(() => expect(wordsIn(path).length).toBeGreaterThan(count), {
        timeout: patient(20_000),
      })
    }
  }
  later.database.prepare(insert).run('later')
  const atThatTime = wordsIn(path)
  const ended = once(child, 'exit')
  child.kill('SIGCONT')
  expect(await ended).toEqual([3, null])
  expect((await lines.next()).value).toBe('lost another mesh uses the home now')
  expect(wordsIn(path)).toEqual(atThatTime)
  expect(atThatTime.at(-1)).toBe('later')
})
