// This module is loaded before a mesh and ends it like a power cut: once, right before a statement runs or right
// after its commit is durable. The file that arms it says which: `before TEXT` or `after TEXT`, where TEXT is the
// beginning of the statement, or `before 2x TEXT` for the second such statement of the process.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import process from 'node:process'
import { DatabaseSync, StatementSync } from 'node:sqlite'

const arm = process.env['KILL_WHEN_ARMED'] ?? ''
const { exec } = DatabaseSync.prototype
const { run } = StatementSync.prototype
let isOpen = false
let isDue = false
let met = 0

function kill() {
  rmSync(arm)
  process.kill(process.pid, 'SIGKILL')
}

DatabaseSync.prototype.exec = function (sql) {
  const done = exec.call(this, sql)
  if (sql.startsWith('BEGIN')) isOpen = true
  if (sql === 'COMMIT' || sql === 'ROLLBACK') {
    isOpen = false
    if (sql === 'COMMIT' && isDue) kill()
    isDue = false
  }
  return done
}
StatementSync.prototype.run = function (...values) {
  const armed = existsSync(arm) ? /^(before|after) (?:(\d+)x )?(.*)$/.exec(readFileSync(arm, 'utf8')) : null
  const isSuch = armed !== null && this.sourceSQL.startsWith(armed[3])
  if (isSuch) met += 1
  const isMeant = isSuch && met === Number(armed[2] ?? 1)
  if (isMeant && armed[1] === 'before') kill()
  const done = run.apply(this, values)
  if (isMeant && armed[1] === 'after') {
    if (isOpen) isDue = true
    else kill()
  }
  return done
}
