import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { signalGroup } from '../builtin-tools/run-program.ts'
import { markKilledFirst } from '../tools/program-priority.ts'
import { runnerSource } from './runner-source.ts'
import { skillBounds } from './skill-bounds.ts'

export interface SkillJob {
  /** JavaScript that the mesh has checked. */
  readonly code: string
  readonly input: JsonObject
  /** Unpredictable, and new for every call. */
  readonly nonce: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly wallMs?: number
  /** Makes one tool call of the skill; calls run one after the other. Never rejects. */
  callTool(tool: string, input: JsonObject, call: SkillCall): Promise<{ output: unknown; ok: boolean }>
}

export interface SkillCall {
  /** The number of the call, from 1, in the order in which the skill made its calls. */
  readonly number: number
  /** Aborted when the skill has ended for any reason. */
  readonly signal: AbortSignal
}

export interface SkillEnd {
  readonly result: JsonObject
  /** The skill's console output, with a note of what was left out. */
  readonly logs: readonly string[]
}

/** Flags with which Node itself denies abilities to the skill's code. */
export const nodeFlags = [
  '--permission',
  '--disable-sigusr1',
  '--disallow-code-generation-from-strings',
  '--no-warnings',
  `--max-old-space-size=${skillBounds.heapMaxMb}`,
  // In MB: V8's young generation takes three times this value, in addition to `--max-old-space-size`.
  '--max-semi-space-size=1',
  '--input-type=module',
] as const

/** Sets limits that only a shell can set: bash sets them on itself and then becomes the program. */
export const boundingCommand = `ulimit -c 0 -d ${skillBounds.dataMaxKib} -t ${skillBounds.cpuSeconds}; exec "$0" "$@"`

/**
 * Runs a skill once, in a process of its own without files, network, programs or environment, and ends that process
 * whatever happens. Rejects with the signal's reason, or with the Problem `unprocessable` that says what went wrong.
 */
export async function runSkill(job: SkillJob): Promise<SkillEnd> {
  job.signal.throwIfAborted()
  const child = spawn('bash', ['-c', boundingCommand, process.execPath, ...nodeFlags, '-e', runnerSource], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  markKilledFirst(child.pid, 'program')
  const done = new AbortController()
  const aborted = new Promise<never>((_resolve, reject) => {
    job.signal.addEventListener('abort', () => reject(job.signal.reason as Error), {
      once: true,
      signal: done.signal,
    })
  })
  const wallMs = job.wallMs ?? skillBounds.wallMs
  const timeUp = job.clock.sleep(wallMs, done.signal).then(
    () => Promise.reject(failure(`the skill took longer than ${wallMs / 1000} s`)),
    () => new Promise<never>(() => undefined),
  )
  try {
    return await Promise.race([converse(child, job, done.signal), aborted, timeUp])
  } finally {
    done.abort()
    const alive = child.exitCode === null && child.signalCode === null
    if (child.pid !== undefined && alive) signalGroup(child.pid, 'SIGKILL')
    child.stdin?.destroy()
    child.stdout?.destroy()
  }
}

/** Sends the skill its order, answers its tool calls, and resolves when the skill ends. */
function converse(child: ChildProcess, job: SkillJob, over: AbortSignal): Promise<SkillEnd> {
  return new Promise((resolve, reject) => {
    const { stdin, stdout } = child
    if (!stdin || !stdout) throw failure('the skill process cannot be reached')
    const send = (message: unknown): void => void stdin.write(`${JSON.stringify(message)}\n`)
    // The skill may end while the agent writes to it.
    stdin.on('error', () => undefined)
    child.once('error', (cause) =>
      reject(new Problem('unprocessable', { detail: 'The skill cannot be started.', cause })),
    )
    let hasReported = false
    child.once('close', (code, signalName) => {
      if (!hasReported) reject(failure(whyItEnded(code, signalName)))
    })
    let calls = 0
    let queue = Promise.resolve()
    const call = (message: JsonObject): void => {
      calls += 1
      if (calls > skillBounds.meshCallsMax) {
        return reject(failure(`the skill made more than ${skillBounds.meshCallsMax} calls of mesh_client`))
      }
      const number = calls
      const { id, tool, input } = message
      const answer = async (): Promise<void> => {
        if (!isJsonObject(input))
          return send({ id, ok: false, output: 'Call the function with exactly one object.' })
        if (over.aborted) return
        const signal = AbortSignal.any([job.signal, over])
        send({ id, ...(await job.callTool(textOf(tool), input, { number, signal })) })
      }
      queue = queue.then(answer).catch(reject)
    }
    const receiveLine = (line: string): void => {
      const message = messageOf(line, job.nonce)
      if (message === null) return
      if (message['type'] === 'call') return call(message)
      hasReported = true
      if (message['type'] === 'done') {
        const result = parsed(message['result'])
        // Tool calls that the skill did not await are finished too.
        if (isJsonObject(result)) void queue.then(() => resolve({ result, logs: logsOf(message) }))
        else reject(failure('the skill must return a plain object'))
      } else reject(failure(ownFrames(textOf(message['words'])), logsOf(message)))
    }
    readLines(stdout, {
      maxBytes: skillBounds.spokenMaxBytes,
      hear: receiveLine,
      tooMuch: () => reject(failure('the skill printed too much output')),
    })
    send({ nonce: job.nonce, code: job.code, input: job.input })
  })
}

/** The message in a line, or null for any other output of the process. */
function messageOf(line: string, nonce: string): JsonObject | null {
  const value = line.startsWith(nonce) ? parsed(line.slice(nonce.length)) : null
  return isJsonObject(value) ? value : null
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : null
  } catch {
    return null
  }
}

function logsOf({ logs, logsLeftOut }: JsonObject): readonly string[] {
  const lines = Array.isArray(logs) ? logs.slice(0, skillBounds.logLinesMax).map(textOf) : []
  return Number(logsLeftOut) > 0 ? [...lines, `[${Number(logsLeftOut)} more lines left out]`] : lines
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function whyItEnded(code: number | null, signalName: string | null): string {
  // The engine ends with an abort or a trap when memory is exhausted; bash reports a signal as 128 plus its number.
  if (['SIGABRT', 'SIGTRAP', 'SIGILL'].includes(signalName ?? '') || code === 134 || code === 133) {
    return `the skill used more memory than ${skillBounds.heapMaxMb} MB`
  }
  if (signalName === 'SIGXCPU')
    return `the skill used more than ${skillBounds.cpuSeconds} s of processor time`
  return `the process of the skill ended with ${signalName ?? `exit code ${code}`} and no result`
}

/** Removes the stack lines of the engine and the runner from an error, because they do not help the author. */
function ownFrames(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s+at /.test(line) || line.includes('skill:main'))
    .join('\n')
}

function failure(reason: string, logs: readonly string[] = []): Problem {
  const logText = logs.length === 0 ? '' : `\nThe skill had logged:\n${logs.join('\n')}`
  return new Problem('unprocessable', { detail: `The skill failed: ${reason}.${logText}` })
}

/** Reports every whole line of a stream, until more than `maxBytes` came in total. */
function readLines(
  stream: Readable,
  options: { readonly maxBytes: number; hear(line: string): void; tooMuch(): void },
): void {
  let size = 0
  let unread: Buffer[] = []
  stream.on('data', (piece: Buffer) => {
    size += piece.length
    if (size > options.maxBytes) {
      stream.removeAllListeners('data')
      return options.tooMuch()
    }
    let from = 0
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
      const line = Buffer.concat([...unread, piece.subarray(from, at)]).toString('utf8')
      unread = []
      from = at + 1
      options.hear(line)
    }
    if (from < piece.length) unread.push(piece.subarray(from))
  })
}
