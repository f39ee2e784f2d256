import { describe, expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import type { Database } from './database.ts'

function aDatabase(onEffectError?: (error: unknown) => void): Database {
  const database = openDatabase(':memory:', onEffectError ? { onEffectError } : {})
  database.exec('CREATE TABLE numbers (number INTEGER)')
  return database
}

const insert = (database: Database, number: number) =>
  database.prepare('INSERT INTO numbers (number) VALUES (?)').run(number)

const numbers = (database: Database) =>
  database
    .prepare('SELECT number FROM numbers ORDER BY number')
    .all()
    .map((row) => row['number'])

describe('a transaction', () => {
  test('a transaction takes everything back when it throws', () => {
    const database = aDatabase()
    const work = () => {
      insert(database, 1)
      throw new Error('no')
    }
    expect(() => database.transaction(work)).toThrow('no')
    expect(numbers(database)).toEqual([])
  })

  test('a transaction joins the one it is nested in', () => {
    const database = aDatabase()
    database.transaction(() => {
      insert(database, 1)
      database.transaction(() => insert(database, 2))
    })
    expect(numbers(database)).toEqual([1, 2])
  })

  test('a transaction takes everything back when a nested one threw, even where that was caught', () => {
    const database = aDatabase()
    const half = () => {
      insert(database, 2)
      throw new Error('half done')
    }
    const work = () => {
      insert(database, 1)
      try {
        database.transaction(half)
      } catch {
        // The caller catches the error and continues.
      }
    }
    expect(() => database.transaction(work)).toThrow('half done')
    expect(numbers(database)).toEqual([])
  })

  test('a transaction refuses work that is not done when it returns', () => {
    const database = aDatabase()
    const work = async () => {
      insert(database, 1)
    }
    expect(() => database.transaction(work)).toThrow('promise')
    expect(numbers(database)).toEqual([])
  })

  test('a transaction keeps the first error when SQLite has rolled back by itself', () => {
    const database = aDatabase()
    const work = () => {
      insert(database, 1)
      database.exec('ROLLBACK')
      throw new Error('the first')
    }
    expect(() => database.transaction(work)).toThrow('the first')
    database.transaction(() => insert(database, 2))
    expect(numbers(database)).toEqual([2])
  })
})

describe('effects', () => {
  test('run after the commit, in their order, and never after a roll-back', () => {
    const database = aDatabase()
    const seen: string[] = []
    database.transaction(() => {
      database.afterCommit(() => seen.push(`first, ${numbers(database).length} row`))
      database.transaction(() => database.afterCommit(() => seen.push('second')))
      insert(database, 1)
    })
    const work = () => {
      database.afterCommit(() => seen.push('never'))
      database.afterRollback(() => seen.push('rolled back'))
      throw new Error('no')
    }
    expect(() => database.transaction(work)).toThrow('no')
    expect(seen).toEqual(['first, 1 row', 'second', 'rolled back'])
  })

  test('effects run at once outside of a transaction', () => {
    const seen: string[] = []
    aDatabase().afterCommit(() => seen.push('now'))
    expect(seen).toEqual(['now'])
  })

  test('throwing effects do not block others, and each error is reported', () => {
    const heard: unknown[] = []
    const seen: string[] = []
    const database = aDatabase((error) => heard.push((error as Error).message))
    database.transaction(() => {
      for (const name of ['a', 'b', 'c']) {
        database.afterCommit(() => {
          seen.push(name)
          if (name !== 'b') throw new Error(name)
        })
      }
      insert(database, 1)
    })
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(heard).toEqual(['a', 'c'])
    expect(numbers(database)).toEqual([1])
  })

  test('throwing effects without a listener are thrown together, and the commit is kept', () => {
    const database = aDatabase()
    const work = () => {
      insert(database, 1)
      for (const name of ['a', 'b']) {
        database.afterCommit(() => {
          throw new Error(name)
        })
      }
    }
    expect(() => database.transaction(work)).toThrow(AggregateError)
    expect(numbers(database)).toEqual([1])
  })

  test('effects of a transaction inside an effect run after those that were queued before', () => {
    const database = aDatabase()
    const seen: string[] = []
    database.transaction(() => {
      database.afterCommit(() => {
        seen.push('first')
        database.transaction(() => database.afterCommit(() => seen.push('third')))
      })
      database.afterCommit(() => seen.push('second'))
    })
    expect(seen).toEqual(['first', 'second', 'third'])
  })
})
