// Preloaded into a mesh under test: measures how long its thread runs without returning to the event loop.
import { writeFileSync } from 'node:fs'
import process from 'node:process'

const everyMs = 5
const target = process.env['FLOTILLA_TEST_STRETCHES']
const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let stretches = []
let before = cpuMs()
// The timer is due in each round of the loop, so the time between two calls is 5 ms of rounds or one longer round.
setInterval(() => {
  const now = cpuMs()
  stretches.push(now - before)
  before = now
}, everyMs).unref()

if (target !== undefined) {
  process.on('SIGUSR2', () => {
    writeFileSync(target, JSON.stringify(stretches))
    stretches = []
  })
}
