import type { IsolationRung } from '@flotilla/protocol/isolation'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import * as fs from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import type { Clock } from '@flotilla/protocol/clock'
import { CommandFailed } from '../command-failed.ts'
import { runtimeWords } from '../runtime-options.ts'
import type { AskedRuntime } from '../runtime-options.ts'
import type { Progress } from '../terminal/progress.ts'
import { followLines } from './follow-file.ts'
import { linesOf, parseMeshLine } from './mesh-lines.ts'
import type { MeshLine } from './mesh-lines.ts'
import { cliMain, meshLogPath, meshMain } from './mesh-paths.ts'
import { superviseWord } from './supervise-word.ts'

/** The log of earlier starts is renamed when it is larger than this. */
const logMaxBytes = 10 * 1024 * 1024
/** Lines of the log that are shown when a mesh ends without saying why. */
const lastWordsMax = 15

export interface StartMeshOptions {
  readonly home: string
  /** If absent, the mesh uses the port from its environment, from `.env` of the home, or its default port. */
  readonly port?: number | undefined
  readonly runtime?: AskedRuntime['runtime']
  readonly cluster?: AskedRuntime['cluster']
  /** The minimum isolation level of every agent, if available. */
  readonly isolation?: IsolationRung | undefined
  /** `serve` runs the mesh until it is stopped; `prepare` only sets up engine, image and network. */
  readonly verb: 'serve' | 'prepare'
  readonly environment: Record<string, string>
  /** True if the mesh keeps running after this process ends. */
  readonly detached: boolean
  readonly progress: Progress
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called for each log line after the mesh is ready. */
  readonly onLine?: (line: MeshLine) => void
}

export interface StartedMesh {
  readonly pid: number
  readonly url: string
  readonly logPath: string
  /** Notices for the person who started the mesh, one sentence each. */
  readonly notices: readonly string[]
  /** Resolves with the exit code when the process has ended; 1 for a death by signal. */
  readonly ended: Promise<number>
  /** Asks the process to end, as `flotilla stop` does. */
  stop(): void
}

/**
 * Starts the mesh and waits until it answers. Its output goes to a file, so that it never blocks on a closed reader.
 * Progress, readiness and problems use a separate channel, so that a full disk hides none of them. A detached mesh is
 * the child of a supervisor. Rejects with CommandFailed carrying the mesh's own problem.
 */
export async function startMesh(options: StartMeshOptions): Promise<StartedMesh> {
  const logPath = meshLogPath(options.home)
  // A log that cannot be opened must not prevent the start: the mesh reports its own errors over its channel.
  const opened = await openLog(logPath).catch(() => null)
  let child: ChildProcess
  try {
    child = spawnMesh(options, opened?.log ?? null)
  } catch (error) {
    await opened?.log.close()
    throw new CommandFailed('mesh-ended', {
      detail: `The system refused to start the process of the mesh: ${error instanceof Error ? error.message : String(error)}.`,
      repair: 'Free memory or processes of this machine, then start the mesh again.',
    })
  }
  const ended = exitOf(child)
  const reading = new AbortController()
  void ended.then(() => reading.abort())
  const starting: Starting = { child, ended, logPath, lastWords: [], pid: child.pid ?? 0, isReady: false }
  const read =
    opened === null ? Promise.resolve() : readLog(opened, { options, starting, signal: reading.signal })
  let ready: Ready
  try {
    ready = await untilReady(options, starting, read)
  } catch (error) {
    await endMesh({ ended, stop: () => void child.kill('SIGTERM') }, options.clock)
    await read
    throw error
  }
  starting.isReady = true
  if (!options.onLine) reading.abort()
  if (options.detached) {
    child.disconnect()
    child.unref()
  }
  return { ...ready, pid: starting.pid, logPath, ended, stop: () => void child.kill('SIGTERM') }
}

/** How long a mesh may take to end its agents and itself. */
const endsWithinMs = 60_000

/** Asks a mesh that this process started to stop, and waits for its end for at most 60 s. */
export async function endMesh(mesh: Pick<StartedMesh, 'ended' | 'stop'>, clock: Clock): Promise<void> {
  const waiting = new AbortController()
  mesh.stop()
  await Promise.race([mesh.ended, clock.sleep(endsWithinMs, waiting.signal).catch(() => undefined)])
  waiting.abort()
}

/** Opens the log for the mesh to write and for this process to read, even if another start renames the file later. */
async function openLog(logPath: string): Promise<{ readonly log: FileHandle; readonly from: number }> {
  fs.mkdirSync(dirname(logPath), { recursive: true, mode: 0o700 })
  const log = await open(logPath, 'a+', 0o600)
  const { size, ino } = await log.stat()
  if (size <= logMaxBytes) return { log, from: size }
  await log.close()
  // Renames the file only if another start has not renamed it already.
  if (fs.statSync(logPath, { throwIfNoEntry: false })?.ino === ino) fs.renameSync(logPath, `${logPath}.1`)
  return { log: await open(logPath, 'a+', 0o600), from: 0 }
}

function spawnMesh(options: StartMeshOptions, log: FileHandle | null): ChildProcess {
  const output = log?.fd ?? 'ignore'
  const words = meshArguments(options)
  const supervised = [cliMain(), superviseWord, options.home, ...words]
  return spawn(process.execPath, options.detached ? supervised : [...programNodeFlags, ...words], {
    stdio: ['ignore', output, output, 'ipc'],
    env: options.environment,
    detached: options.detached,
  })
}

function meshArguments(options: StartMeshOptions): string[] {
  return [
    meshMain(),
    options.verb,
    '--home',
    options.home,
    ...(options.verb === 'serve' && options.port !== undefined ? ['--port', `${options.port}`] : []),
    ...runtimeWords(options),
    ...(options.isolation === undefined ? [] : ['--isolation', options.isolation]),
  ]
}

/** Resolves after the last message of the process, unlike its `exit`. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => {
      if (child.pid === undefined) resolve(1)
    })
    child.once('close', (code) => resolve(code ?? 1))
  })
}

interface Starting {
  readonly child: ChildProcess
  readonly ended: Promise<number>
  readonly logPath: string
  /** The last lines of its log. */
  readonly lastWords: string[]
  /** Process id of the mesh once it is known; before that, the process id of its supervisor. */
  pid: number
  isReady: boolean
}

type Ready = Pick<StartedMesh, 'url' | 'notices'>

async function untilReady(
  options: StartMeshOptions,
  starting: Starting,
  read: Promise<void>,
): Promise<Ready> {
  const { child, ended, lastWords, logPath } = starting
  const onAbort = () => void child.kill('SIGTERM')
  options.signal.addEventListener('abort', onAbort, { once: true })
  try {
    const ready = await Promise.race([readyOf(options, starting), ended.then(() => null)])
    if (ready !== null) return ready
    const code = await ended
    await read
    if (options.verb === 'prepare' && code === 0) return { url: '', notices: [] }
    options.signal.throwIfAborted()
    throw new CommandFailed('mesh-ended', {
      detail: `The mesh ended with exit code ${code} before it was ready.\n  ${lastWords.join('\n  ')}`,
      repair: `Read ${logPath}, then run flotilla doctor.`,
    })
  } catch (error) {
    options.progress.fail()
    throw error
  } finally {
    options.signal.removeEventListener('abort', onAbort)
  }
}

/** Resolves when the mesh reports that it is ready; rejects with the problem that it reports. */
function readyOf({ progress }: StartMeshOptions, starting: Starting): Promise<Ready> {
  return new Promise((resolve, reject) => {
    starting.child.on('message', (message: unknown) => {
      const pid: unknown = Reflect.get(Object(message), 'pid')
      if (typeof pid === 'number') starting.pid = pid
      const line = parseMeshLine(JSON.stringify(message))
      if (line.kind === 'ready') resolve({ url: line.url, notices: line.notices })
      if (line.kind === 'problem') reject(problemOf(line))
      if (line.kind !== 'progress') return
      if (line.failed) progress.failed(line.failed.step, line.failed.why)
      progress.step(line.words)
    })
  })
}

/** The mesh's own problem. */
function problemOf({ code, detail, repair }: Extract<MeshLine, { kind: 'problem' }>): CommandFailed {
  return new CommandFailed(code, { detail, repair: repair === '' ? 'Run flotilla doctor.' : repair })
}

/** Keeps the last lines of a start, and passes later lines to the caller. */
async function readLog(
  { log, from }: { readonly log: FileHandle; readonly from: number },
  by: { readonly options: StartMeshOptions; readonly starting: Starting; readonly signal: AbortSignal },
): Promise<void> {
  const { options, starting } = by
  const isOwn = (pid: number): boolean => pid === starting.pid || pid === starting.child.pid
  const written = followLines(log, { from, clock: options.clock, signal: by.signal })
  for await (const text of linesOf(written, isOwn)) {
    const line = parseMeshLine(text)
    if (starting.isReady) options.onLine?.(line)
    else if (line.kind === 'log') starting.lastWords.push(line.words)
    if (starting.lastWords.length > lastWordsMax) starting.lastWords.shift()
  }
}
