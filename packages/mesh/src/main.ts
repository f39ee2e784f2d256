import { enableCompileCache, flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import { asProblem } from './api/problem-reply.ts'
import type { CommandContext } from './commands/command-context.ts'
import { commandEnvironment } from './commands/command-environment.ts'
import type { EnvFileNeed } from './commands/command-environment.ts'
import { systemClock } from './system-clock.ts'
import { SandboxError, sandboxWords } from './sandbox/sandbox-error.ts'

/**
 * `main.ts <serve|prepare|doctor|verify-journal|begin-journal|reset|session> [--home H] [--port P] [--agent-port P] [--runtime R]`.
 * The command line and the tests start it; standard output is JSON lines, among them progress and the problem
 * that ended it.
 */
const commands: Readonly<Record<string, Entry>> = {
  serve: { needs: 'sound', load: async () => (await import('./commands/serve.ts')).serve },
  prepare: { needs: 'sound', load: async () => (await import('./commands/prepare.ts')).prepare },
  doctor: { needs: 'whatever-holds', load: async () => (await import('./commands/doctor.ts')).doctor },
  'verify-journal': {
    needs: 'whatever-holds',
    load: async () => (await import('./commands/verify-journal.ts')).verifyJournal,
  },
  'begin-journal': {
    needs: 'whatever-holds',
    load: async () => (await import('./commands/begin-journal.ts')).beginJournal,
  },
  reset: { needs: 'readable', load: async () => (await import('./commands/reset.ts')).reset },
  session: { needs: 'whatever-holds', load: async () => (await import('./commands/session.ts')).session },
}

interface Entry {
  readonly needs: EnvFileNeed
  readonly load: () => Promise<(context: CommandContext) => Promise<number>>
}

/**
 * Half of a start goes into reading and compiling six hundred files, and after a kill everybody waits for it: what one
 * life has compiled, the next loads. Only what is loaded from here on is kept, so a command brings its own modules.
 */
function keepCompiled(): void {
  enableCompileCache(compiledModulesFolder(process.env['XDG_CACHE_HOME'], homedir()))
}

async function main(): Promise<number> {
  keepCompiled()
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      home: { type: 'string' },
      port: { type: 'string' },
      'agent-port': { type: 'string' },
      runtime: { type: 'string' },
    },
  })
  const name = positionals[0] ?? 'serve'
  const command = commands[name]
  if (!command) {
    tell({
      problem: {
        code: 'bad-request',
        detail: `no command ${name}; there are ${Object.keys(commands).join(', ')}`,
        repair:
          'Start it with flotilla start -d; the commands of flotilla --help are the way to everything else.',
      },
    })
    return 2
  }
  const env = {
    ...process.env,
    ...(values.home ? { FLOTILLA_HOME: values.home } : {}),
    ...(values.port ? { FLOTILLA_PORT: values.port } : {}),
    ...(values['agent-port'] ? { FLOTILLA_AGENT_PORT: values['agent-port'] } : {}),
    ...(values.runtime ? { FLOTILLA_RUNTIME: values.runtime } : {}),
  }
  const environment = await commandEnvironment(command.needs, { env, userHome: homedir() })
  const run = await command.load()
  return run({
    environment,
    env,
    tell,
    stopped: stopSignal(),
    uid: process.getuid?.() ?? -1,
    pid: process.pid,
    repositoryRoot: join(import.meta.dirname, '..', '..', '..'),
  })
}

/** Lines that whoever started the process waits for; in a log that several starts write to, the id says whose. */
const ofThisLife: readonly string[] = ['progress', 'ready', 'problem']

function tell(line: Readonly<Record<string, unknown>>): void {
  const marked = ofThisLife.some((name) => name in line) ? { ...line, pid: process.pid } : line
  process.stdout.write(`${JSON.stringify(marked)}\n`)
  // Node writes it at its end, which a mesh that is killed never reaches.
  if (line['ready'] === true) flushCompileCache()
}

/** One Ctrl-C arrives several times: from the terminal, and from each program that passes it on. */
const sameRequestMs = 2000

/** Aborts at the first request to stop; a second one, made later, ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let askedAt = 0
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted && systemClock.now() - askedAt > sameRequestMs) process.exit(1)
      if (controller.signal.aborted) return
      askedAt = systemClock.now()
      controller.abort(new Error(signal))
    })
  }
  return controller.signal
}

try {
  process.exitCode = await main()
} catch (error) {
  const problem = asProblem(error)
  const sandbox = error instanceof SandboxError ? { code: error.id, ...sandboxWords(error) } : null
  const known = { code: problem.code, detail: problem.detail, repair: problem.repair }
  const inside =
    problem.code === 'internal-error' && error instanceof Error
      ? { ...known, detail: error.stack ?? error.message }
      : known
  tell({ problem: sandbox ?? inside })
  process.exitCode = 1
}
// Open sockets of the engine or of undici must not keep a finished command alive.
setTimeout(() => process.exit(), 2000).unref()
