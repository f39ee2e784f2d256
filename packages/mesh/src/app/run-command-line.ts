import { flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { asProblem } from '../http/index.ts'
import type { CommandContext } from './commands/command-context.ts'
import { commandEnvironment } from './commands/command-environment.ts'
import type { EnvFileNeed } from './commands/command-environment.ts'
import { systemClock, useProxies } from '../platform/index.ts'
import { SandboxError, sandboxWords } from '../sandbox/index.ts'

/** Commands by name. Each brings its own modules. */
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
  backup: { needs: 'readable', load: async () => (await import('./commands/backup.ts')).backup },
  restore: { needs: 'readable', load: async () => (await import('./commands/restore.ts')).restore },
  'verify-backup': {
    needs: 'whatever-holds',
    load: async () => (await import('./commands/verify-backup.ts')).verify,
  },
  prune: { needs: 'readable', load: async () => (await import('./commands/prune.ts')).prune },
  image: { needs: 'readable', load: async () => (await import('./commands/image.ts')).image },
  'image-with-mesh': {
    needs: 'readable',
    load: async () => (await import('./commands/image.ts')).imageWithMesh,
  },
  session: { needs: 'whatever-holds', load: async () => (await import('./commands/session.ts')).session },
}

interface Entry {
  readonly needs: EnvFileNeed
  readonly load: () => Promise<(context: CommandContext) => Promise<number>>
}

/** Runs the command that the process was started with and gives the code to exit with; what ended it is told. */
export async function runCommandLine(variables: NodeJS.ProcessEnv): Promise<number> {
  // A fault that nobody caught leaves a state that nobody knows. The process ends, and the next life begins from disk.
  process.once('uncaughtException', (error) => {
    tell({ problem: problemOf(error) })
    process.exit(1)
  })
  try {
    return await commandNamed(variables)
  } catch (error) {
    tell({ problem: problemOf(error) })
    return 1
  }
}

async function commandNamed(variables: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      home: { type: 'string' },
      port: { type: 'string' },
      'agent-port': { type: 'string' },
      runtime: { type: 'string' },
      isolation: { type: 'string' },
      context: { type: 'string' },
      namespace: { type: 'string' },
      file: { type: 'string' },
      secrets: { type: 'string' },
      without: { type: 'string', multiple: true },
      apply: { type: 'boolean' },
      lost: { type: 'string', multiple: true },
      browsers: { type: 'boolean' },
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
    ...variables,
    ...(values.home ? { FLOTILLA_HOME: values.home } : {}),
    ...(values.port ? { FLOTILLA_PORT: values.port } : {}),
    ...(values['agent-port'] ? { FLOTILLA_AGENT_PORT: values['agent-port'] } : {}),
    ...(values.runtime ? { FLOTILLA_RUNTIME: values.runtime } : {}),
    ...(values.context ? { FLOTILLA_KUBERNETES_CONTEXT: values.context } : {}),
    ...(values.namespace ? { FLOTILLA_KUBERNETES_NAMESPACE: values.namespace } : {}),
    ...(values.isolation ? { FLOTILLA_ISOLATION: values.isolation } : {}),
  }
  const environment = await commandEnvironment(command.needs, { env, userHome: homedir() })
  const [run] = await Promise.all([command.load(), useProxies(environment.proxies)])
  return run({
    environment,
    env,
    tell,
    stopped: stopSignal(),
    uid: process.getuid?.() ?? -1,
    pid: process.pid,
    program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    ...(values.file === undefined ? {} : { file: values.file }),
    ...(values.apply === undefined ? {} : { apply: values.apply }),
    ...(values.lost === undefined ? {} : { lost: values.lost }),
    ...(values.browsers === undefined ? {} : { browsers: values.browsers }),
    backup: { secrets: values.secrets, without: values.without ?? [] },
    repositoryRoot: join(import.meta.dirname, '..', '..', '..', '..'),
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

function problemOf(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof SandboxError) return { code: error.id, ...sandboxWords(error) }
  const { code, detail, repair } = asProblem(error)
  const inside = code === 'internal-error' && error instanceof Error
  return { code, detail: inside ? (error.stack ?? error.message) : detail, repair }
}
