import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, StatementSync } from 'node:sqlite'

/**
 * The only access to the mesh's database. Everything is synchronous, so transactions never interleave.
 *
 * - D1 A transaction is atomic: nested calls join it, and a nested throw rolls all of it back even if the caller
 *   catches it.
 * - D2 Effects run after the outermost commit, in order, each one even if another throws.
 * - D3 Effects added while effects run are queued behind them, so that the order of commits is kept.
 * - D4 With a fence, a transaction begins only if no higher epoch was ever written to the same file. As long as the
 *   file's locks work, an outdated process commits nothing after its successor began, however late it resumes.
 * - D5 With a fence, nothing is committed after the holder's time is over, even if those locks do not work.
 */
export interface Database {
  /** Prepared once per text and kept; callers pass constant SQL and bind every value. */
  prepare(sql: string): StatementSync
  exec(sql: string): void
  /**
   * Runs `work` in one immediate transaction, nested calls join it; a throw rolls everything back. Not for async
   * work.
   */
  transaction<T>(work: () => T): T
  /**
   * Runs `effect` after the outermost transaction commits, or immediately outside of one; never after a roll-back.
   */
  afterCommit(effect: () => void): void
  /** Runs after the outermost transaction rolled back; never outside of one. For memory that must follow the rows. */
  afterRollback(effect: () => void): void
  close(): void
}

/** Prevents a mesh whose lease has expired from writing, if meshes on several machines share one database. */
export interface WriteFence {
  /** The epoch of this process; higher than all earlier ones. */
  readonly epoch: number
  /** False once another process may be about to take over. */
  readonly mayWrite: () => boolean
  /** Ends the process, because its in-memory state is no longer valid. */
  readonly onLost: (why: string) => void
}

export interface DatabaseOptions {
  /** If given, D4 and D5 apply: every write is a transaction that checks the fence. */
  readonly fence?: WriteFence
  /**
   * Called once for each error of an effect. Without it the errors are thrown together to the caller that committed,
   * although the commit is kept.
   */
  readonly onEffectError?: (error: unknown) => void
  /** Called with the error of every write that failed, before its caller gets it. */
  readonly onError?: (error: unknown) => void
}

/** Opens `path` (or `:memory:`) in WAL mode; FULL, since the ledger, budgets and journal promise durability. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Database {
  const sqlite = new DatabaseSync(path)
  sqlite.exec(
    'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=5000; PRAGMA trusted_schema=OFF;',
  )
  const statements = new Map<string, StatementSync>()
  const fence = options.fence ? raiseFence(sqlite, options.fence) : null
  const due = createEffectQueue(options.onEffectError)
  let open: OpenTransaction | null = null

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known) return known
    const statement = sqlite.prepare(sql)
    if (writes.test(sql)) {
      if (fence) intoTransaction(statement)
      else reportErrors(statement)
    }
    statements.set(sql, statement)
    return statement
  }

  /** A write by itself is a transaction of its own. */
  function intoTransaction(statement: StatementSync): void {
    for (const way of ['run', 'get', 'all'] as const) {
      const plain = statement[way].bind(statement)
      Object.assign(statement, {
        [way]: (...values: SQLInputValue[]) =>
          open ? plain(...values) : transaction(() => plain(...values)),
      })
    }
  }

  /** Failed writes outside of a transaction are reported as well. */
  function reportErrors(statement: StatementSync): void {
    for (const way of ['run', 'get', 'all'] as const) {
      const plain = statement[way].bind(statement)
      const reporting = (...values: SQLInputValue[]) => {
        try {
          return plain(...values)
        } catch (error) {
          if (!open) options.onError?.(error)
          throw error
        }
      }
      Object.assign(statement, { [way]: reporting })
    }
  }

  function transaction<T>(work: () => T): T {
    if (open) return joined(open, work)
    begin()
    const mine: OpenTransaction = { committed: [], rolledBack: [], failure: null }
    open = mine
    let result: T
    try {
      fence?.atBegin()
      result = joined(mine, work)
      if (mine.failure) throw mine.failure.error // D1
      fence?.atCommit()
      sqlite.exec('COMMIT')
    } catch (error) {
      // SQLite has ended the transaction by itself after some errors, a full disk among them.
      open = null
      rollBack()
      options.onError?.(error)
      due.run(mine.rolledBack)
      throw error
    }
    open = null
    due.run(mine.committed)
    return result
  }

  /** A failing disk may also make the rollback fail; the first error is the one to throw. */
  function rollBack(): void {
    try {
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
    } catch (error) {
      options.onError?.(error)
    }
  }

  function begin(): void {
    try {
      sqlite.exec('BEGIN IMMEDIATE')
    } catch (error) {
      options.onError?.(error)
      throw error
    }
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

const writes = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE)\b/i

/** Records the epoch, so that every process with a lower epoch finds it from now on. */
function raiseFence(sqlite: DatabaseSync, { epoch, mayWrite, onLost }: WriteFence) {
  const lost = (why: string): never => {
    onLost(why)
    throw new Error(`this mesh may no longer write to its database: ${why}`)
  }
  const atCommit = (): void => {
    if (!mayWrite()) lost('its lease has expired')
  }
  sqlite.exec(
    'CREATE TABLE IF NOT EXISTS write_fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT',
  )
  atCommit()
  const raised = sqlite
    .prepare(
      'INSERT INTO write_fence (id, epoch) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch WHERE epoch < excluded.epoch',
    )
    .run(epoch)
  if (raised.changes !== 1) lost('another mesh uses the home now')
  const highest = sqlite.prepare('SELECT epoch FROM write_fence WHERE id = 1')
  return {
    atCommit,
    atBegin: (): void => {
      if (highest.get()?.['epoch'] !== epoch) lost('another mesh uses the home now')
      atCommit()
    },
  }
}

/** The highest epoch that wrote to a database; 0 if the file does not exist or never had a fence. */
export function epochOf(path: string): number {
  if (!existsSync(path)) return 0
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    const table = sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'write_fence'").get()
    return table === undefined
      ? 0
      : Number(sqlite.prepare('SELECT epoch FROM write_fence').get()?.['epoch'] ?? 0)
  } finally {
    sqlite.close()
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
