// Preloaded into a mesh under test: how long its thread works on the processor without the event loop coming round.
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
// A timer is due in each round, so between two of its calls there are 5 ms of rounds, or one that was longer.
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
