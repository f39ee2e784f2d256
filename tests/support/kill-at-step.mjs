// Loaded before a program: counts what it does in one folder and to the processes that work there, and ends it right
// before or right after one of these steps. Nothing is waited for: each moment is hit exactly.
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'

const { KILL_AT = '', STEPS_LIST = '', STEPS_IN = '' } = process.env
for (const name of ['KILL_AT', 'STEPS_LIST', 'STEPS_IN']) delete process.env[name]
const { appendFileSync } = fs
const { promises } = fs
let count = 0

function killAt(moment) {
  if (KILL_AT === moment) process.kill(process.pid, 'SIGKILL')
}

function step(name, work) {
  const number = count
  count += 1
  appendFileSync(STEPS_LIST, `${name}\n`)
  killAt(`before ${number}`)
  const result = work()
  if (typeof result?.then !== 'function') {
    killAt(`after ${number}`)
    return result
  }
  return result.then((value) => {
    killAt(`after ${number}`)
    return value
  })
}

function countCalls(owner, name, label) {
  const work = owner[name]
  owner[name] = (...given) => step(label, () => work.apply(owner, given))
}

const isThere = (given) =>
  JSON.stringify(given, (_, value) => (value instanceof Uint8Array ? '' : value))?.includes(STEPS_IN)

for (const name of ['rm', 'rename', 'open']) {
  const work = promises[name]
  promises[name] = async (...given) => {
    if (!isThere(given)) return work.apply(promises, given)
    const result = await step(name, () => work.apply(promises, given))
    if (name === 'open') countCalls(result, 'sync', 'handle.sync')
    return result
  }
}

const { spawn } = childProcess
childProcess.spawn = (...given) => {
  if (!isThere(given)) return spawn(...given)
  const child = step('spawn', () => spawn(...given))
  if (child.stdin) countCalls(child.stdin, 'end', 'stdin.end')
  return child
}
syncBuiltinESMExports()
