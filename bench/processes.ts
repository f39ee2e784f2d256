import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

const readyTimeoutMs = 30_000
/** Longest time for a process to stop, milliseconds; the mesh stops its agents first. */
const stopGraceMs = 15_000
/** Characters of a process's output that an error message contains. */
const outputMaxChars = 4000
const lastWordsMaxChars = 800
/** Units of the process times in `/proc`, by the kernel's own constant. */
const clockTicksPerSecond = 100

/** A process of a measurement, which is ended by its id and whose CPU time can be read. */
export interface Contender {
  readonly child: ChildProcess
  readonly pid: number
  /** CPU time of all threads of the process so far, ms; resolution 10 ms. */
  cpuMs(): number
  /** Returns the end of its output. */
  lastWords(): string
  stop(): Promise<void>
}

export interface ContenderOptions {
  readonly script: string
  readonly args?: readonly string[]
  readonly nodeArgs?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly directory?: string
  /** The core to run on; null to let the kernel choose. */
  readonly core: number | null
}

/** Starts a script with the Node that runs the bench. */
export function startContender(options: ContenderOptions): Contender {
  const node = [process.execPath, ...(options.nodeArgs ?? []), options.script, ...(options.args ?? [])]
  const [command = '', ...args] =
    options.core === null ? node : ['taskset', '--cpu-list', String(options.core), ...node]
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...options.environment },
    ...(options.directory === undefined ? {} : { cwd: options.directory }),
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} could not be started`)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputMaxChars)
    })
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.once('error', () => {})
  return {
    child,
    pid,
    cpuMs: () => cpuMsOf(pid),
    lastWords: () => output.trim().slice(-lastWordsMaxChars),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      const patience = new AbortController()
      await Promise.race([ended, delay(stopGraceMs, undefined, { signal: patience.signal }).catch(() => {})])
      patience.abort()
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await ended
      }
    },
  }
}

/** Waits for the port in the first message of a script of this folder. */
export async function listeningPort(contender: Contender, signal: AbortSignal): Promise<number> {
  const message = await nextMessage(contender, signal, readyTimeoutMs)
  if (
    typeof message === 'object' &&
    message !== null &&
    'port' in message &&
    typeof message.port === 'number'
  ) {
    return message.port
  }
  throw new Error('a process of the bench did not tell its port')
}

/** Resolves with the next message; rejects if the process ends first, or after `timeoutMs`. */
export function nextMessage(contender: Contender, signal: AbortSignal, timeoutMs: number): Promise<unknown> {
  const { child } = contender
  return new Promise((resolve, reject) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const settle = (action: () => void) => {
      child.off('message', onMessage)
      child.off('exit', onExit)
      deadline.removeEventListener('abort', onAbort)
      action()
    }
    const onMessage = (message: unknown) => settle(() => resolve(message))
    const onExit = () =>
      settle(() => reject(new Error(`a process of the bench ended: ${contender.lastWords()}`)))
    const onAbort = () => settle(() => reject(deadline.reason))
    if (child.exitCode !== null) onExit()
    child.once('message', onMessage)
    child.once('exit', onExit)
    deadline.addEventListener('abort', onAbort, { once: true })
  })
}

/**
 * One core for the load and the upstream server, one for the measured program, so that programs are compared by
 * what they do with one core. Null if the machine has only one core, or no `taskset`.
 */
export function chooseCores(): { readonly load: number; readonly contender: number } | null {
  const hasTaskset = ['/usr/bin', '/bin'].some((folder) => readdirSync(folder).includes('taskset'))
  return availableParallelism() >= 2 && hasTaskset ? { load: 0, contender: 1 } : null
}

/** CPU time of all threads of a process, ms; resolution 10 ms. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / clockTicksPerSecond
}
