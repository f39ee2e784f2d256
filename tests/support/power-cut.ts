import { AsyncLocalStorage } from 'node:async_hooks'
import { promises } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'

/**
 * Simulates power cuts inside one process, at a counted point: before or after any commit of a database, and before
 * or after any step that puts a file into its place or removes it. The interrupted work has no effect after that:
 * its writes to files never finish, and its further calls to the database throw.
 */
export interface PowerCut {
  /** The boundary at which the power cut happens; null for a process that ends by itself. */
  readonly endsAt: number | null
  /** Number of boundaries that the process has passed. */
  passed: number
  isOver: boolean
}

const cuts = new AsyncLocalStorage<PowerCut>()
let running: PowerCut | null = null

/** Resolves to the result of the work, or to null if the power cut ended it. */
export async function runUntilCut<T>(
  endsAt: number | null,
  work: () => Promise<T>,
): Promise<{ readonly cut: PowerCut; readonly result: T | null }> {
  installed()
  const ended = Promise.withResolvers<null>()
  let isOver = false
  const cut: PowerCut = {
    endsAt,
    passed: 0,
    get isOver() {
      return isOver
    },
    set isOver(value) {
      isOver = value
      if (value) ended.resolve(null)
    },
  }
  running = cut
  const done = cuts.run(cut, work)
  done.catch(() => undefined)
  const result = await Promise.race([done, ended.promise]).finally(() => (running = null))
  return { cut, result: cut.isOver ? null : result }
}

/** Counts a boundary at a server that the process calls; throws at the power cut. Returns its number. */
export function passOutside(): number | null {
  if (running === null) return null
  pass(running)
  return running.passed - 1
}

/** Counts one more boundary; throws at the power cut. */
function pass(cut: PowerCut): void {
  if (cut.isOver) throw new Error('the power is off')
  if (cut.passed++ !== cut.endsAt) return
  cut.isOver = true
  throw new Error('the power goes off')
}

let isInstalled = false

function installed(): void {
  if (isInstalled) return
  isInstalled = true
  cutDatabases()
  cutFiles()
}

function cutDatabases(): void {
  const owners = new WeakMap<StatementSync, DatabaseSync>()
  const { exec, prepare } = DatabaseSync.prototype
  const { run, get, all } = StatementSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given) {
    const statement = prepare.apply(this, given)
    owners.set(statement, this)
    return statement
  }
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
    const cut = cuts.getStore()
    // Uncommitted changes are lost in any case, so a rollback is no boundary and always runs.
    if (sql === 'ROLLBACK' || !cut) return exec.call(this, sql)
    return around(cut, sql === 'COMMIT', () => exec.call(this, sql))
  }
  const writes = (statement: StatementSync): boolean =>
    /^\s*(?:INSERT|UPDATE|DELETE)/i.test(statement.sourceSQL) && owners.get(statement)?.isTransaction !== true
  for (const [name, original] of [
    ['run', run],
    ['get', get],
    ['all', all],
  ] as const) {
    const counted = function (this: StatementSync, ...given: never[]): unknown {
      const cut = cuts.getStore()
      const work = (): unknown => Reflect.apply(original, this, given)
      return cut ? around(cut, writes(this), work) : work()
    }
    Object.defineProperty(StatementSync.prototype, name, {
      value: counted,
      writable: true,
      configurable: true,
    })
  }
}

function around<T>(cut: PowerCut, isBoundary: boolean, work: () => T): T {
  if (cut.isOver) throw new Error('the power is off')
  if (!isBoundary) return work()
  pass(cut)
  const done = work()
  pass(cut)
  return done
}

function cutFiles(): void {
  for (const name of ['rename', 'rm', 'unlink', 'mkdir'] as const) {
    const original = promises[name] as (...given: unknown[]) => Promise<unknown>
    const counted = async (...given: unknown[]): Promise<unknown> => {
      const cut = cuts.getStore()
      if (!cut) return original(...given)
      const step = (): Promise<void> => {
        try {
          pass(cut)
          return Promise.resolve()
        } catch {
          return new Promise(() => undefined)
        }
      }
      await step()
      const done = await original(...given)
      await step()
      return done
    }
    Object.defineProperty(promises, name, { value: counted, writable: true, configurable: true })
  }
  syncBuiltinESMExports()
}
