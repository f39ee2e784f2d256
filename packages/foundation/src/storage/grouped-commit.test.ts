import { describe, expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { createGroupedCommit, groupMax } from './grouped-commit.ts'

function aTable() {
  const database = openDatabase(':memory:')
  database.exec('CREATE TABLE word (text TEXT PRIMARY KEY)')
  let commits = 0
  const counted = {
    ...database,
    transaction: <T>(work: () => T): T => {
      const result = database.transaction(work)
      commits++
      return result
    },
  }
  const grouped = createGroupedCommit(counted)
  const insert = (text: string) => () => database.prepare('INSERT INTO word VALUES (?)').run(text)
  const words = () =>
    database
      .prepare('SELECT text FROM word ORDER BY text')
      .all()
      .map((row) => row['text'])
  return { grouped, database, insert, words, commits: () => commits }
}

describe('a grouped commit', () => {
  test('a grouped commit takes the writes of one turn together, in their order', async () => {
    const { grouped, insert, words, commits } = aTable()
    const seen = grouped.add(() => words().length)
    await Promise.all([grouped.add(insert('a')), grouped.add(insert('b')), seen])
    const after = grouped.add(() => words().length)
    expect([await seen, await after]).toEqual([0, 2])
    expect(commits()).toBe(2)
  })

  test('a grouped commit keeps one that fails from undoing the others', async () => {
    const { grouped, insert, words } = aTable()
    const outcomes = await Promise.allSettled(['a', 'b', 'a', 'c'].map((text) => grouped.add(insert(text))))
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(words()).toEqual(['a', 'b', 'c'])
  })

  test('a grouped commit is written at once when it is flushed', () => {
    const { grouped, insert, words } = aTable()
    void grouped.add(insert('a'))
    expect(words()).toEqual([])
    grouped.flush()
    expect(words()).toEqual(['a'])
  })

  test('commits a limited number at once, and none is left behind', async () => {
    const { grouped, insert, words, commits } = aTable()
    const names = Array.from({ length: 2 * groupMax + 1 }, (_, at) => `${at}`)
    await Promise.all(names.map((name) => grouped.add(insert(name))))
    expect(words()).toHaveLength(names.length)
    expect(commits()).toBe(3)
    const again = Promise.all(names.map((name) => grouped.add(insert(`${name} again`))))
    grouped.flush()
    expect(words()).toHaveLength(2 * names.length)
    await again
  })

  test('a commit is not repeated if its effects fail', async () => {
    const { grouped, database, insert, words } = aTable()
    let runs = 0
    const outcome = grouped.add(() => {
      runs++
      insert('a')()
      database.afterCommit(() => {
        throw new Error('no listener')
      })
    })
    expect(() => grouped.flush()).toThrow('no listener')
    await outcome
    expect([runs, words()]).toEqual([1, ['a']])
  })
})
