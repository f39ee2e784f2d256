import { join } from 'node:path'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'

const commits = 300

/**
 * Measures how long one row takes until it would survive a power cut, on the disk to which the mesh writes, ms
 * each.
 */
export function measureDurableCommits(folder: string): readonly number[] {
  const database = openDatabase(join(folder, 'durable-commit.db'))
  try {
    database.exec('CREATE TABLE entry (number INTEGER, text TEXT)')
    const insert = database.prepare('INSERT INTO entry VALUES (?, ?)')
    return Array.from({ length: commits }, (_, number) => {
      const startedAt = performance.now()
      database.transaction(() => insert.run(number, 'an entry'))
      return performance.now() - startedAt
    })
  } finally {
    database.close()
  }
}
