import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'

/** The one way to the mesh's database. Everything on it is synchronous, so a transaction never interleaves. */
export interface Database {
  /** Prepared once per text and kept; callers pass constant SQL and bind every value. */
  prepare(sql: string): StatementSync
  exec(sql: string): void
  /** Runs `work` in one immediate transaction, nested calls join it; a throw rolls everything back. */
  transaction<T>(work: () => T): T
  /** Runs after the outermost transaction commits, or at once outside of one; never after a roll-back. */
  afterCommit(effect: () => void): void
  close(): void
}

/** Opens `path` (or `:memory:`) in WAL mode; FULL, since the ledger, budgets and journal promise durability. */
export function openDatabase(path: string): Database {
  const sqlite = new DatabaseSync(path)
  sqlite.exec(
    'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=5000; PRAGMA trusted_schema=OFF;',
  )
  const statements = new Map<string, StatementSync>()
  let depth = 0
  let effects: (() => void)[] = []

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known) return known
    const statement = sqlite.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  function transaction<T>(work: () => T): T {
    if (depth > 0) return work()
    sqlite.exec('BEGIN IMMEDIATE')
    depth = 1
    let result: T
    try {
      result = work()
      sqlite.exec('COMMIT')
    } catch (error) {
      effects = []
      sqlite.exec('ROLLBACK')
      throw error
    } finally {
      depth = 0
    }
    const due = effects
    effects = []
    for (const effect of due) effect()
    return result
  }

  return {
    prepare,
    transaction,
    exec: (sql) => sqlite.exec(sql),
    afterCommit: (effect) => {
      if (depth > 0) effects.push(effect)
      else effect()
    },
    close: () => {
      statements.clear()
      sqlite.close()
    },
  }
}
