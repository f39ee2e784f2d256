#!/usr/bin/env node
import { setGlobalProxyFromEnv } from 'node:http'
import { enableCompileCache } from 'node:module'
import { homedir, uptime } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '@flotilla/client/system-clock'
import { compiledProgramFolder } from '@flotilla/protocol/compiled-modules'
import { readEnvironment } from './environment.ts'
import { paceWord, superviseWord } from './mesh-process/supervise-word.ts'
import { helpAsTyped } from './terminal/typed-command.ts'
import { writtenHelp } from './written-help.ts'

const words = process.argv.slice(2)
const [first, home = '', ...meshWords] = words
if (first === superviseWord) {
  const { superviseMesh } = await import('./mesh-process/supervise-mesh.ts')
  process.exit(await superviseMesh(home, meshWords))
}
if (first === paceWord) {
  const { paceRestarts } = await import('./mesh-process/pace-restarts.ts')
  const { lastServiceExit } = await import('./mesh-process/systemd-control.ts')
  await paceRestarts({
    folder: process.env['RUNTIME_DIRECTORY'] ?? null,
    lastExit: lastServiceExit,
    uptimeMs: () => Math.round(uptime() * 1000),
    clock: systemClock,
  })
  process.exit(0)
}
const help = writtenHelp(words, {
  folder: join(dirname(process.argv[1] ?? ''), 'help'),
  columns: process.stdout.columns,
})
if (help === null) {
  // Compiling takes more than half of a short command; only modules loaded from here on are cached for the next one.
  enableCompileCache(compiledProgramFolder(process.env['XDG_CACHE_HOME'], homedir(), process.argv[1]))
  const { connectDirectly } = await import('@flotilla/protocol/direct-connections')
  connectDirectly(process, setGlobalProxyFromEnv)
  const { runCommandLine } = await import('./run-command-line.ts')

  process.exitCode = await runCommandLine(words)
  // A terminal that is still being read would keep the process alive.
  process.stdin.destroy()
} else {
  // A reader that closed the pipe (`flotilla --help | head`) is no error.
  process.stdout.on('error', () => process.exit(0)).write(helpAsTyped(help, readEnvironment().command))
}
