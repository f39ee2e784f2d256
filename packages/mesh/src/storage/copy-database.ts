import { chmodSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'

/** Pages copied in one step; others write meanwhile. */
const pagesPerStep = 2000

/**
 * Copies a database that is written to as it stands at one moment, into one file. `atThatMoment` runs while nothing that is
 * written can come into the copy any more, and is not to wait for anything. Rejects with what SQLite met.
 */
export async function copyDatabase(path: string, target: string, atThatMoment: () => void): Promise<void> {
  const source = new DatabaseSync(path, { timeout: 5000 })
  try {
    // The first read is what pins the moment; the copy is made of it, whatever is committed after.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    atThatMoment()
    await backup(source, target, { rate: pagesPerStep })
    source.exec('COMMIT')
  } finally {
    source.close()
  }
  chmodSync(target, 0o600)
  const copy = new DatabaseSync(target)
  try {
    copy.exec('PRAGMA journal_mode=DELETE')
  } finally {
    copy.close()
  }
}

/** What SQLite finds wrong with a database file; null for nothing. */
export function faultInDatabase(path: string): string | null {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const found = String(database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] ?? 'no answer')
    return found === 'ok' ? null : found
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    database.close()
  }
}
