// Preloaded into a program and its child programs: writes which Flotilla functions ran since the last request.
import child from 'node:child_process'
import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const folder = process.env['WATCHED_FOLDER'] ?? ''
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

// Taking the coverage resets its counters.
let asked = 0
process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (_error, taken) => {
    const ran = taken.result
      .filter(({ url, functions }) => url.includes('/packages/') && functions.some(hasRun))
      .map(({ url }) => fileURLToPath(url))
    const file = join(folder, `${process.pid}-${asked}.json`)
    asked += 1
    writeFileSync(`${file}.new`, JSON.stringify(ran))
    renameSync(`${file}.new`, file)
  })
})

// The first range of a function is the whole function. A range from offset 0 is the module, which runs when loaded.
function hasRun({ ranges: [whole] }) {
  return whole.startOffset > 0 && whole.count > 0
}

// The sandbox gives its agents an environment of their own; of a built one, functions could not be told by their
// files.
const { spawn } = child
const builtAgent = /\/agent-[\da-f]{16}\/agent\.cjs$/
const agentSource = fileURLToPath(new URL('../../packages/agent/src/main.ts', import.meta.url))
child.spawn = (command, args, options) =>
  spawn(
    command,
    args.map((word) => (builtAgent.test(word) ? agentSource : word)),
    {
      ...options,
      env: { ...options.env, WATCHED_FOLDER: folder, NODE_OPTIONS: `--import ${import.meta.url}` },
    },
  )
syncBuiltinESMExports()
appendFileSync(join(folder, 'programs'), `${process.pid}\n`)
