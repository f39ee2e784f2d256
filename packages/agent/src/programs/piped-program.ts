import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { createOutputKeeper } from '../builtin-tools/output-keeper.ts'
import { signalGroup } from '../builtin-tools/run-program.ts'
import { markKilledFirst, servedLast } from '../tools/program-priority.ts'

/** The kept part of a program's standard error, in characters. */
const outputMaxChars = 2000
/** How long a program may take to exit after its input is closed, and again after SIGTERM. */
const endGraceMs = 1000

/** A program that speaks a protocol on its standard streams. */
export interface PipedProgram {
  readonly pid: number | null
  readonly input: Writable
  readonly output: Readable
  /** Resolves when the program runs, and rejects if it cannot be started. */
  readonly started: Promise<void>
  /** Resolves when the program has ended and its output is closed. */
  readonly closed: Promise<void>
  /** How the program ended, and what it printed last on standard error; null while it runs. */
  ended(): string | null
  /** Closes its input, and ends its whole process group if it does not exit. */
  close(): Promise<void>
}

/**
 * Starts a program in its own process group, which is ended as a whole: such programs are often started by another
 * program, and only the group reaches both.
 */
export function startPipedProgram(program: {
  /** What the program is, for its error: `MCP server`, `harness`. */
  readonly what: string
  readonly command: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  /** `program` if it is killed first when memory runs out, `server` if commands are killed before it. */
  readonly priority: 'program' | 'server'
  readonly clock: Clock
}): PipedProgram {
  const { what, environment, clock } = program
  const keeper = createOutputKeeper(outputMaxChars)
  const [file, args] =
    program.priority === 'program'
      ? servedLast(environment, [program.command, ...program.args])
      : [program.command, [...program.args]]
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, args, {
    cwd: program.directory,
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let end: string | null = null
  markKilledFirst(child.pid, program.priority)
  child.stderr.setEncoding('utf8').on('data', (piece: string) => keeper.add(piece))
  // The program may end while the agent writes to it.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined)
  child.once('exit', (code, signalName) => {
    const printed = keeper.text().trim()
    end = `the process of the ${what} ended with ${signalName ?? `exit code ${code}`}${printed === '' ? '' : ` and printed: ${printed}`}`
    // The program has ended, so its child processes are killed too.
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
  })
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
  })
  const started = new Promise<void>((resolve, reject) => {
    child.once('spawn', () => resolve())
    child.once('error', (error) => {
      end ??= `the ${what} cannot be started: ${error.message}`
      reject(error)
    })
  })
  // A caller that waits for the end alone does not read this promise.
  started.catch(() => undefined)
  return {
    pid: child.pid ?? null,
    input: child.stdin,
    output: child.stdout,
    started,
    closed,
    ended: () => end,
    close: async () => {
      const { pid } = child
      if (pid === undefined || end !== null) return
      child.stdin.end()
      for (const signalName of ['SIGTERM', 'SIGKILL'] as const) {
        const waited = new AbortController()
        await Promise.race([closed, clock.sleep(endGraceMs, waited.signal).catch(() => undefined)])
        waited.abort()
        if (end !== null) return
        signalGroup(pid, signalName)
      }
      await closed
    },
  }
}
