import { accessSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Log } from '@flotilla/protocol/json-log'
import { applySchema } from './memory-schema.ts'

/** SQLite’s own page cache in KiB: an operator has 128 MB in total. */
const pageCacheKib = 1024
const busyTimeoutMs = 5000
/** SQLITE_NOTADB and SQLITE_CORRUPT. */
const brokenCodes: readonly number[] = [26, 11]

/** The memory’s file. All access is synchronous, so transactions never interleave. */
export interface MemoryDatabase {
  /** False if the vector extension is missing: then only the search by words works. */
  readonly hasVectors: boolean
  /** Returns a statement, prepared once per text and cached; callers pass constant SQL and bind every value. */
  prepare(sql: string): StatementSync
  exec(sql: string): void
  /**
   * Runs one writing statement. The vector extension leaves last-inserted ids beyond JavaScript’s safe
   * integers, and `run` of a plain statement throws on them.
   */
  write(sql: string, ...values: readonly SQLInputValue[]): { changes: number; insertedId: number }
  /** Executes `work` completely or not at all. `work` must be synchronous and start no transaction. */
  transaction<T>(work: () => T): T
  close(): void
}

/**
 * Opens the file, and creates it if missing. SQLite is loaded only here, at the first use of the memory. A
 * corrupt file is renamed and replaced by a new one, and the log says so: the agent continues.
 */
export async function openMemoryDatabase(path: string, log: Log): Promise<MemoryDatabase> {
  const sqlite = await import('node:sqlite')
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    return openFile(sqlite.DatabaseSync, path, log)
  } catch (error) {
    if (!isBroken(error)) throw error
    const aside = `${path}.broken`
    log.error(
      { err: error, aside },
      'failed to read the memory database; moved it aside and created an empty one',
    )
    renameSync(path, aside)
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    return openFile(sqlite.DatabaseSync, path, log)
  }
}

function openFile(Database: typeof DatabaseSync, path: string, log: Log): MemoryDatabase {
  const sqlite = new Database(path, { allowExtension: true, defensive: true })
  try {
    sqlite.exec(
      `PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-${pageCacheKib}; PRAGMA mmap_size=0; PRAGMA busy_timeout=${busyTimeoutMs}; PRAGMA trusted_schema=OFF; PRAGMA temp_store=FILE;`,
    )
    const hasVectors = loadVectors(sqlite, log)
    applySchema({
      exec: (sql) => sqlite.exec(sql),
      version: () => Number(sqlite.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0),
    })
    return onDatabase(sqlite, hasVectors)
  } catch (error) {
    sqlite.close()
    throw error
  }
}

function onDatabase(sqlite: DatabaseSync, hasVectors: boolean): MemoryDatabase {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known) return known
    const statement = sqlite.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    hasVectors,
    prepare,
    write: (sql, ...values) => {
      const statement = prepare(sql)
      statement.setReadBigInts(true)
      const { changes, lastInsertRowid } = statement.run(...values)
      return { changes: Number(changes), insertedId: Number(lastInsertRowid) }
    },
    exec: (sql) => sqlite.exec(sql),
    transaction: (work) => {
      sqlite.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        sqlite.exec('COMMIT')
        return result
      } catch (error) {
        // SQLite ends the transaction itself after some errors, for example a full disk.
        if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
        throw error
      }
    },
    close: () => {
      statements.clear()
      sqlite.close()
    },
  }
}

/** Whether the extension exists and loads. Afterwards no other can be loaded. */
function loadVectors(sqlite: DatabaseSync, log: Log): boolean {
  const path = findVectorExtension()
  try {
    if (path !== null) sqlite.loadExtension(path)
    return path !== null
  } catch (err) {
    log.warn({ err, path }, 'failed to load the vector extension; memory searches by words only')
    return false
  } finally {
    sqlite.enableLoadExtension(false)
  }
}

/** Returns the path of the vector extension: beside the bundle, or in its package if the agent runs from sources. */
export function findVectorExtension(): string | null {
  // The bundle is CommonJS and knows its folder as `__dirname`; modules use the other name.
  const here = typeof __dirname === 'string' ? __dirname : import.meta.dirname
  const beside = join(here, 'parts', 'vec0.so')
  try {
    accessSync(beside)
    return beside
  } catch {
    return packagedExtension(here)
  }
}

function packagedExtension(here: string): string | null {
  const find = createRequire(join(here, 'memory-database.ts'))
  for (const architecture of ['x64', 'arm64']) {
    try {
      return find.resolve(`sqlite-vec-linux-${architecture}/vec0.so`)
    } catch {
      // Not available for this architecture.
    }
  }
  return null
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && brokenCodes.includes(Number(error.errcode) & 0xff)
}
