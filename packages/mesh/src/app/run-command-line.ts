import { flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { asProblem } from '@flotilla/identity/http'
import { endOfStart } from './end-of-start.ts'
import type { CommandContext } from './commands/command-context.ts'
import { commandEnvironment } from './commands/command-environment.ts'
import type { EnvFileNeed } from './commands/command-environment.ts'
import { openCommandOutput, openServingOutput, systemClock, useProxies } from '@flotilla/foundation/platform'
import type { LineOutput } from '@flotilla/foundation/platform'
import { SandboxError, sandboxWords } from '@flotilla/fleet/sandbox'
import { storageFaultOf } from '@flotilla/foundation/storage'

/** Commands by name. Each command loads only its own modules. */
const commands: Readonly<Record<string, Entry>> = {
  serve: {
    needs: 'sound',
    load: async (output) => {
      const { serve } = await import('./commands/serve.ts')
      return (context) => serve(context, output)
    },
  },
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
  'stop-agents': {
    needs: 'readable',
    load: async () => (await import('./commands/stop-agents.ts')).stopAgents,
  },
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
  readonly load: (output: LineOutput) => Promise<(context: CommandContext) => Promise<number>>
}

/**
 * Runs the command of the process's arguments and returns the exit code. A problem that ends the command is written
 * to standard output.
 */
export async function runCommandLine(variables: NodeJS.ProcessEnv): Promise<number> {
  let output = openCommandOutput(process.pid)
  let serves = false
  try {
    const args = parseWords()
    const name = args.positionals[0] ?? 'serve'
    serves = name === 'serve'
    if (serves) output = openServingOutput(process.pid)
    catchFaults(output, { serves })
    return await runNamed(name, { variables, output, values: args.values })
  } catch (error) {
    const end = serves ? endOfStart(error) : { error, exitCode: 1 }
    writeLine(output, { problem: problemOf(end.error) })
    return end.exitCode
  } finally {
    output.flush()
  }
}

/**
 * After an uncaught error the state is unknown, so the process ends, and the next process starts from the disk. A
 * failed write is an exception: it was rolled back or never began, and the next process would have the same disk.
 */
function catchFaults(output: LineOutput, { serves }: { readonly serves: boolean }): void {
  process.on('uncaughtException', (error) => {
    const problem = problemOf(error)
    if (serves && storageFaultOf(error) !== null) {
      const msg = 'a write failed that no code waits for; the mesh goes on'
      const time = new Date(systemClock.now()).toISOString()
      return output.write(`${JSON.stringify({ level: 50, time, pid: process.pid, ...problem, msg })}\n`)
    }
    writeLine(output, { problem })
    output.flush()
    process.exit(1)
  })
}

function parseWords() {
  return parseArgs({
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
}

interface Started {
  readonly variables: NodeJS.ProcessEnv
  readonly output: LineOutput
  readonly values: ReturnType<typeof parseWords>['values']
}

async function runNamed(name: string, { variables, output, values }: Started): Promise<number> {
  const print = (line: Readonly<Record<string, unknown>>): void => writeLine(output, line)
  const command = commands[name]
  if (!command) {
    print({
      problem: {
        code: 'bad-request',
        detail: `the program of the mesh has no command ${name}; its commands are ${Object.keys(commands).join(', ')}`,
        repair:
          'Start the mesh with flotilla start -d; flotilla --help lists the commands for everything else.',
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
  // Programs that this process starts, such as npm, apt and the engine, inherit these variables.
  Object.assign(variables, environment.proxies.forPrograms())
  const [run] = await Promise.all([command.load(output), useProxies(environment.proxies)])
  return run({
    environment,
    env,
    print,
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

/**
 * Keys of lines for the starting process. Several starts can write to one log, so such lines carry the process id.
 */
const forStarter: readonly string[] = ['progress', 'ready', 'problem']

/** Writes a line. Lines for the starting process are also sent over IPC, which works even with a full disk. */
function writeLine(output: LineOutput, line: Readonly<Record<string, unknown>>): void {
  const isForStarter = forStarter.some((name) => name in line)
  const marked = isForStarter ? { ...line, pid: process.pid } : line
  output.write(`${JSON.stringify(marked)}\n`)
  if (isForStarter && process.connected) process.send?.(marked, () => undefined)
  // Node writes the compile cache only when it exits, so for a mesh that is killed it is written here.
  if (line['ready'] === true) flushCompileCache()
}

/** One Ctrl-C can arrive repeatedly within this time, milliseconds: from the terminal and from parent programs. */
const sameRequestMs = 2000

/** Returns a signal that aborts at the first request to stop; a second, later request ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let requestedAt = 0
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted && systemClock.now() - requestedAt > sameRequestMs) process.exit(1)
      if (controller.signal.aborted) return
      requestedAt = systemClock.now()
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
