import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '@flotilla/client/system-clock'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import { createLineOutput, lossSentence } from '@flotilla/protocol/line-output'
import { alreadySupervised } from './other-supervisor.ts'
import { endWords, nextStep } from './restart-pace.ts'
import type { MeshEnd } from './restart-pace.ts'
import { answerAsSupervisor } from './supervisor-socket.ts'
import type { SupervisorState } from './supervisor-socket.ts'

/**
 * Runs the supervisor process of `flotilla start -d`: starts the mesh of a home, and restarts it when it crashes. It
 * reads and writes no files, so a full disk cannot stop it; log lines that cannot be written are counted, and the count
 * is logged once there is room again. A mesh that was never ready is not restarted: the command that waits for it reports why.
 */
export async function superviseMesh(home: string, meshWords: readonly string[]): Promise<number> {
  const stopping = new AbortController()
  const state = {
    pid: process.pid,
    mesh_pid: 0,
    restarts: 0,
    last_exit: null,
    last_exit_at: null,
    next_start_at: null,
  } as {
    -readonly [Name in keyof SupervisorState]: SupervisorState[Name]
  }
  const refusal = await answerAsSupervisor(home, () => state).then(
    async (isOnly) => (isOnly ? null : alreadySupervised(home, systemClock)),
    unreachable,
  )
  if (refusal !== null) {
    sendToStarter({ problem: refusal })
    return 1
  }
  let running: ChildProcess | null = null
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stopping.abort()
      running?.kill(signal)
    })
  }
  let failures = 0
  for (;;) {
    const mesh = startMesh(meshWords)
    running = mesh.child
    Object.assign(state, { mesh_pid: mesh.child?.pid ?? 0, next_start_at: null })
    const end = await mesh.ended
    running = null
    Object.assign(state, { mesh_pid: 0, last_exit: endWords(end), last_exit_at: systemClock.now() })
    if (stopping.signal.aborted) return end.code ?? 0
    const next = nextStep(end, failures)
    if (!next.restart || (state.restarts === 0 && !end.wasReady) || !isHome(home)) {
      log(`the mesh ended (${endWords(end)}) and is not started again`)
      return end.code ?? 1
    }
    failures = next.failures
    log(`the mesh ended unexpectedly (${endWords(end)}); restarting it in ${next.delayMs} ms`)
    state.next_start_at = systemClock.now() + next.delayMs
    await systemClock.sleep(next.delayMs, stopping.signal).catch(() => undefined)
    if (stopping.signal.aborted) return 0
    state.restarts += 1
  }
}

interface MeshStart {
  /** Null if the system refused to start a process. */
  readonly child: ChildProcess | null
  readonly ended: Promise<MeshEnd>
}

/** Never throws: a start that the system refuses, at once or with an event, is an end of the mesh like any other. */
function startMesh(words: readonly string[]): MeshStart {
  try {
    const child = spawn(process.execPath, [...programNodeFlags, ...words], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    return { child, ended: endOf(child) }
  } catch (error) {
    // Node throws some errors of the system, such as ENOMEM, and emits others, such as EAGAIN.
    log(`the mesh could not be started: ${error instanceof Error ? error.message : String(error)}`)
    const end = { code: 1, signal: null, problem: null, wasReady: false, livedMs: 0 }
    return { child: null, ended: Promise.resolve(end) }
  }
}

function endOf(child: ChildProcess): Promise<MeshEnd> {
  const startedAt = performance.now()
  let wasReady = false
  let problem: string | null = null
  child.on('message', (line: Readonly<Record<string, unknown>>) => {
    if (line['ready'] === true) wasReady = true
    const code: unknown = Reflect.get(Object(line['problem']), 'code')
    if (typeof code === 'string') problem = code
    sendToStarter(line)
  })
  return new Promise<MeshEnd>((resolve) => {
    const end = (code: number | null, signal: string | null): void =>
      resolve({ code, signal, problem, wasReady, livedMs: performance.now() - startedAt })
    // The process could not be created (too many open files, no memory); retried like after any other end.
    child.once('error', (error) => {
      log(`the mesh could not be started: ${error.message}`)
      if (child.pid === undefined) end(1, null)
    })
    // After the last message, unlike `exit`.
    child.once('close', end)
  })
}

/** Sends a line to the command that started this supervisor, which listens until the mesh is ready. */
function sendToStarter(line: Readonly<Record<string, unknown>>): void {
  if (process.connected) process.send?.(line, () => undefined)
}

/** True if the home exists or its disk cannot be read; a restart in a removed home would create it again. */
function isHome(home: string): boolean {
  try {
    return statSync(join(home, 'data'), { throwIfNoEntry: false }) !== undefined
  } catch {
    return true // A disk that cannot be read now may be read later.
  }
}

const output = createLineOutput({
  writeSome: (bytes) => writeSync(1, bytes),
  lossLine: (dropped, code) => logLine({ dropped, msg: lossSentence(dropped, code) }),
  later: (work, ms) => void systemClock.sleep(ms).then(work),
})
const log = (msg: string): void => output.write(logLine({ msg }))

function logLine(fields: Readonly<Record<string, unknown>>): string {
  const time = new Date(systemClock.now()).toISOString()
  return `${JSON.stringify({ level: 40, time, pid: process.pid, supervisor: true, ...fields })}\n`
}

/** The problem for a supervisor that cannot create its socket, through which commands find it. */
function unreachable(error: unknown) {
  return {
    code: 'supervisor-failed',
    detail: `The supervisor of the mesh cannot open its socket: ${error instanceof Error ? error.message : String(error)}`,
    repair: 'Raise the limit of open files (ulimit -n) if that is the cause, or start without -d.',
  }
}
