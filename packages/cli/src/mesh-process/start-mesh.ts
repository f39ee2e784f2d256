import type { IsolationRung } from '@flotilla/protocol/isolation'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, renameSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { meshNodeFlags } from '@flotilla/protocol/built-program'
import type { Clock } from '@flotilla/protocol/clock'
import { CommandFailed } from '../command-failed.ts'
import { runtimeWords } from '../runtime-options.ts'
import type { AskedRuntime } from '../runtime-options.ts'
import type { Progress } from '../terminal/progress.ts'
import { followLines } from './follow-file.ts'
import { linesOf, parseMeshLine } from './mesh-lines.ts'
import type { MeshLine } from './mesh-lines.ts'
import { meshLogPath, meshMain } from './mesh-paths.ts'

/** The log of earlier starts is put aside when it is larger than this. */
const logMaxBytes = 10 * 1024 * 1024
/** Lines of the log that are shown when a mesh ends without saying why. */
const lastWordsMax = 15

export interface StartMeshOptions {
  readonly home: string
  /** Without it the mesh goes by the environment, `.env` of the home, and its usual port. */
  readonly port?: number | undefined
  readonly runtime?: AskedRuntime['runtime']
  readonly cluster?: AskedRuntime['cluster']
  /** What every agent is to run behind at least, where it can be had. */
  readonly isolation?: IsolationRung | undefined
  /** `serve` stays; `prepare` makes engine, image and network and ends. */
  readonly verb: 'serve' | 'prepare'
  readonly environment: Record<string, string>
  /** The mesh outlives this process. */
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
  /** What it says to whoever started it, a sentence each. */
  readonly notices: readonly string[]
  /** Resolves with the exit code when the process has ended; 1 for a death by signal. */
  readonly ended: Promise<number>
  /** Asks the process to end, as `flotilla stop` does. */
  stop(): void
}

/**
 * Starts the mesh as a child of its own and waits until it says that it answers. Its output goes to a file, so
 * that it never hangs on a reader that is gone. Rejects with CommandFailed carrying the mesh's own problem.
 */
export async function startMesh(options: StartMeshOptions): Promise<StartedMesh> {
  const logPath = meshLogPath(options.home)
  const { log, from } = await openLog(logPath)
  const child = spawnMesh(options, log)
  const ended = exitOf(child)
  const finished = new AbortController()
  void ended.then(() => finished.abort())
  const written = followLines(log, { from, clock: options.clock, signal: finished.signal })
  const lines = linesOf(written, child.pid ?? 0)
  let ready: Ready
  try {
    ready = await untilReady(options, { child, ended, lines, logPath })
  } catch (error) {
    await lines.return()
    await endMesh({ ended, stop: () => void child.kill('SIGTERM') }, options.clock)
    throw error
  }
  const { onLine } = options
  if (onLine) void forward(lines, onLine)
  // Closes the log: a generator that nobody asks again keeps its file open.
  else await lines.return()
  if (options.detached) child.unref()
  return { ...ready, pid: child.pid ?? 0, logPath, ended, stop: () => void child.kill('SIGTERM') }
}

/** How long a mesh may take to end its agents and itself. */
const endsWithinMs = 60_000

/** Asks a mesh of ours to end and waits until it has, at most 60 s. */
export async function endMesh(mesh: Pick<StartedMesh, 'ended' | 'stop'>, clock: Clock): Promise<void> {
  const waiting = new AbortController()
  mesh.stop()
  await Promise.race([mesh.ended, clock.sleep(endsWithinMs, waiting.signal).catch(() => undefined)])
  waiting.abort()
}

/** One file for the mesh to write to and for us to read, whatever another start puts aside in the meantime. */
async function openLog(logPath: string): Promise<{ readonly log: FileHandle; readonly from: number }> {
  mkdirSync(dirname(logPath), { recursive: true, mode: 0o700 })
  const log = await open(logPath, 'a+', 0o600)
  const { size, ino } = await log.stat()
  if (size <= logMaxBytes) return { log, from: size }
  await log.close()
  // Another start may have put it aside a moment ago.
  if (statSync(logPath, { throwIfNoEntry: false })?.ino === ino) renameSync(logPath, `${logPath}.1`)
  return { log: await open(logPath, 'a+', 0o600), from: 0 }
}

function spawnMesh(options: StartMeshOptions, log: FileHandle): ChildProcess {
  return spawn(process.execPath, meshArguments(options), {
    stdio: ['ignore', log.fd, log.fd],
    env: options.environment,
    detached: options.detached,
  })
}

function meshArguments(options: StartMeshOptions): string[] {
  return [
    ...meshNodeFlags,
    meshMain(),
    options.verb,
    '--home',
    options.home,
    ...(options.verb === 'serve' && options.port !== undefined ? ['--port', `${options.port}`] : []),
    ...runtimeWords(options),
    ...(options.isolation === undefined ? [] : ['--isolation', options.isolation]),
  ]
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1))
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

interface Starting {
  readonly child: ChildProcess
  readonly ended: Promise<number>
  readonly lines: AsyncGenerator<string, void, undefined>
  readonly logPath: string
}

type Ready = Pick<StartedMesh, 'url' | 'notices'>

async function untilReady(options: StartMeshOptions, starting: Starting): Promise<Ready> {
  const onAbort = () => void starting.child.kill('SIGTERM')
  options.signal.addEventListener('abort', onAbort, { once: true })
  const lastWords: string[] = []
  try {
    for (;;) {
      // Not for-await: leaving that loop would close the generator, and the log is read on after the start.
      const next = await starting.lines.next()
      if (next.done === true) break
      const line = parseMeshLine(next.value)
      if (line.kind === 'ready') return { url: line.url, notices: line.notices }
      if (line.kind === 'progress') {
        if (line.failed) options.progress.failed(line.failed.step, line.failed.why)
        options.progress.step(line.words)
      }
      if (line.kind === 'problem') throw problemOf(line)
      if (line.kind === 'log') lastWords.push(line.words)
      if (lastWords.length > lastWordsMax) lastWords.shift()
    }
    const code = await starting.ended
    if (options.verb === 'prepare' && code === 0) return { url: '', notices: [] }
    options.signal.throwIfAborted()
    throw new CommandFailed('mesh-ended', {
      detail: `The mesh ended with exit code ${code} before it was ready.\n  ${lastWords.join('\n  ')}`,
      repair: `Read ${starting.logPath}, then run flotilla doctor.`,
    })
  } catch (error) {
    options.progress.fail()
    throw error
  } finally {
    options.signal.removeEventListener('abort', onAbort)
  }
}

/** The mesh's own problem. */
function problemOf({ code, detail, repair }: Extract<MeshLine, { kind: 'problem' }>): CommandFailed {
  return new CommandFailed(code, { detail, repair: repair === '' ? 'Run flotilla doctor.' : repair })
}

async function forward(lines: AsyncGenerator<string>, onLine: (line: MeshLine) => void): Promise<void> {
  for await (const line of lines) onLine(parseMeshLine(line))
}
