import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'

/**
 * The one way to the mesh's database. Everything on it is synchronous, so a transaction never interleaves.
 *
 * D1 A transaction is all or nothing: nested calls join it, and a nested throw rolls all of it back even where
 *    the caller caught it.
 * D2 Effects run after the outermost commit, in the order they were given, each one even if another throws.
 * D3 Effects given while effects run wait their turn behind them, so that what follows a commit keeps its order.
 */
export interface Database {
  /** Prepared once per text and kept; callers pass constant SQL and bind every value. */
  prepare(sql: string): StatementSync
  exec(sql: string): void
  /** Runs `work` in one immediate transaction, nested calls join it; a throw rolls everything back. Not for async work. */
  transaction<T>(work: () => T): T
  /** Runs after the outermost transaction commits, or at once outside of one; never after a roll-back. */
  afterCommit(effect: () => void): void
  /** Runs after the outermost transaction rolled back; never outside of one. For memory that must follow the rows. */
  afterRollback(effect: () => void): void
  close(): void
}

export interface DatabaseOptions {
  /**
   * Hears what an effect threw, once each. Without it the errors are thrown together, by whoever committed,
   * although the commit stands.
   */
  readonly onEffectError?: (error: unknown) => void
  /** Hears what made a transaction roll back, before its caller does. */
  readonly onError?: (error: unknown) => void
}

/** Opens `path` (or `:memory:`) in WAL mode; FULL, since the ledger, budgets and journal promise durability. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Database {
  const sqlite = new DatabaseSync(path)
  sqlite.exec(
    'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=5000; PRAGMA trusted_schema=OFF;',
  )
  const statements = new Map<string, StatementSync>()
  const due = createEffectQueue(options.onEffectError)
  let open: OpenTransaction | null = null

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known) return known
    const statement = sqlite.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  function transaction<T>(work: () => T): T {
    if (open) return joined(open, work)
    sqlite.exec('BEGIN IMMEDIATE')
    const mine: OpenTransaction = { committed: [], rolledBack: [], failure: null }
    open = mine
    let result: T
    try {
      result = joined(mine, work)
      if (mine.failure) throw mine.failure.error // D1
      sqlite.exec('COMMIT')
    } catch (error) {
      // SQLite has ended the transaction by itself after some errors, a full disk among them.
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
      open = null
      options.onError?.(error)
      due.run(mine.rolledBack)
      throw error
    }
    open = null
    due.run(mine.committed)
    return result
  }

  return {
    prepare,
    transaction,
    exec: (sql) => sqlite.exec(sql),
    afterCommit: (effect) => {
      if (open) open.committed.push(effect)
      else due.run([effect])
    },
    afterRollback: (effect) => {
      open?.rolledBack.push(effect)
    },
    close: () => {
      statements.clear()
      sqlite.close()
    },
  }
}

interface OpenTransaction {
  readonly committed: (() => void)[]
  readonly rolledBack: (() => void)[]
  failure: { readonly error: unknown } | null
}

function joined<T>(transaction: OpenTransaction, work: () => T): T {
  try {
    const result = work()
    if (result instanceof Promise) throw new Error('a transaction cannot wait for a promise')
    return result
  } catch (error) {
    transaction.failure ??= { error }
    throw error
  }
}

function createEffectQueue(onError: ((error: unknown) => void) | undefined) {
  const queue: (() => void)[] = []
  let running = false

  function run(effects: readonly (() => void)[]): void {
    queue.push(...effects)
    if (running) return // D3
    running = true
    const errors: unknown[] = []
    for (let effect = queue.shift(); effect; effect = queue.shift()) {
      try {
        effect()
      } catch (error) {
        errors.push(error) // D2
      }
    }
    running = false
    report(errors)
  }

  function report(errors: readonly unknown[]): void {
    if (errors.length === 0) return
    if (onError) errors.forEach((error) => onError(error))
    else if (errors.length === 1) throw errors[0]
    else throw new AggregateError(errors, 'effects after a commit failed')
  }

  return { run }
}
