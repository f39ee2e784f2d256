import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { markKilledFirst, servedLast } from '../tools/program-priority.ts'
import { createOutputKeeper } from './output-keeper.ts'

const outputMaxChars = 50_000
/** How long a killed process group may clean up, and how long open pipes are read after the program has ended. */
const killGraceMs = 1000
const drainMs = 300

export interface ProgramEnd {
  readonly code: number | null
  readonly signalName: string | null
  readonly timedOut: boolean
  /** Standard output and standard error in the order of arrival: the beginning and the end of the text. */
  readonly output: string
}

/**
 * Runs a command line with bash in its own process group. Rejects with the signal's reason once the group was
 * signalled to end, or with `unprocessable` when no program can be started.
 */
export async function runProgram(job: {
  command: string
  directory: string
  environment: Readonly<Record<string, string>>
  timeoutMs: number
  signal: AbortSignal
  clock: Clock
}): Promise<ProgramEnd> {
  const { clock, signal } = job
  signal.throwIfAborted()
  const child = spawn(...servedLast(job.environment, ['bash', '-c', job.command]), {
    cwd: job.directory,
    env: job.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  markKilledFirst(child.pid, 'program')
  const keeper = createOutputKeeper(outputMaxChars)
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (piece: string) => keeper.add(piece))
  }
  const done = new AbortController()
  let timedOut = false
  const onAbort = (): void => void killGroup(child, clock)
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = clock.sleep(job.timeoutMs, done.signal).then(
    () => {
      timedOut = true
      return killGroup(child, clock)
    },
    () => undefined,
  )
  const closed = closeOf(child)
  try {
    const { code, signalName } = await exitOf(child)
    // A background program may keep the pipes open forever, although the command itself has ended.
    await Promise.race([closed, clock.sleep(drainMs, done.signal).catch(() => undefined)])
    child.stdout.destroy()
    child.stderr.destroy()
    signal.throwIfAborted()
    return { code, signalName, timedOut, output: keeper.text() }
  } finally {
    done.abort()
    signal.removeEventListener('abort', onAbort)
    if (!timedOut) await timer
  }
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; signalName: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new Problem('unprocessable', { detail: 'The program could not be started.', cause }))
    })
    child.once('exit', (code, signalName) => resolve({ code, signalName }))
  })
}

function closeOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('close', () => resolve())
  })
}

async function killGroup(child: ChildProcess, clock: Clock): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  signalGroup(pid, 'SIGTERM')
  await clock.sleep(killGraceMs)
  signalGroup(pid, 'SIGKILL')
}

export function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name)
  } catch {
    // All processes of the group have ended already, so there is nothing to signal.
  }
}
