import { chmodSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'

/** Pages copied in one step; other connections may write between two steps. */
const pagesPerStep = 2000

/**
 * Copies a live database into one file, as a consistent snapshot. `atThatMoment` is called when later writes can no
 * longer be part of the copy; it must not wait. Rejects with SQLite's error.
 */
export async function copyDatabase(path: string, target: string, atThatMoment: () => void): Promise<void> {
  const source = new DatabaseSync(path, { timeout: 5000 })
  try {
    // The first read fixes the snapshot; later commits are not part of the copy.
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

/** The faults that SQLite finds in a database file; null if it finds none. */
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
