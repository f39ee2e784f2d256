// This module is loaded before a mesh and ends it like a power cut: once, right after the commit that follows the row
// of a keyed call, and only while the file that arms it exists.
import { existsSync, rmSync } from 'node:fs'
import process from 'node:process'
import { DatabaseSync, StatementSync } from 'node:sqlite'

const arm = process.env['KILL_WHEN_ARMED'] ?? ''
const { exec } = DatabaseSync.prototype
const { run } = StatementSync.prototype
let isDue = false

DatabaseSync.prototype.exec = function (sql) {
  const done = exec.call(this, sql)
  if (sql === 'COMMIT' && isDue) {
    rmSync(arm)
    process.kill(process.pid, 'SIGKILL')
  }
  return done
}
StatementSync.prototype.run = function (...values) {
  const done = run.apply(this, values)
  isDue ||= /^INSERT (?:OR IGNORE )?INTO effect /.test(this.sourceSQL) && existsSync(arm)
  return done
}
