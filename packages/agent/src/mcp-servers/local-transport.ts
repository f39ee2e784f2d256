import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Clock } from '@flotilla/protocol/clock'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { markKilledFirst } from '../tools/program-priority.ts'
import { createOutputKeeper } from '../builtin-tools/output-keeper.ts'
import { signalGroup } from '../builtin-tools/run-program.ts'

type Sdk = Pick<typeof import('../parts/mcp.ts'), 'ReadBuffer' | 'serializeMessage'>

/** Longest message of a server in bytes, and the kept part of its other output in characters. */
const messageMaxBytes = 8 * 1024 * 1024
const outputMaxChars = 2000
/** How long the server may take to exit after its input is closed, and again after SIGTERM. */
const endGraceMs = 1000

/** Communicates with a program over its standard streams. */
export interface LocalTransport extends Transport {
  /** The SDK's client recognizes a transport over standard streams by the fields `pid` and `stderr`. */
  readonly pid: number | null
  readonly stderr: null
  /** How the server ended, and its last output; null while the server runs. */
  ended(): string | null
}

/**
 * Runs a program in its own process group, which is ended as a whole: servers are often started by another
 * program, and only the group reaches both. The SDK reads and writes its messages.
 */
export function createLocalTransport(
  sdk: Sdk,
  program: {
    readonly command: string
    readonly args: readonly string[]
    readonly environment: Readonly<Record<string, string>>
    readonly directory: string
    readonly clock: Clock
  },
): LocalTransport {
  const keeper = createOutputKeeper(outputMaxChars)
  const buffer = new sdk.ReadBuffer({ maxBufferSize: messageMaxBytes })
  let child: ChildProcess | null = null
  let end: string | null = null
  let closed: Promise<void> = Promise.resolve()

  const transport: LocalTransport = {
    get pid() {
      return child?.pid ?? null
    },
    stderr: null,
    ended: () => end,
    start: () => {
      const started = spawn(program.command, [...program.args], {
        cwd: program.directory,
        env: program.environment,
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      })
      child = started
      markKilledFirst(started.pid, 'server')
      started.stderr.setEncoding('utf8').on('data', (piece: string) => keeper.add(piece))
      started.stdout.on('data', (bytes: Buffer) => receive(bytes))
      // The server may end while the agent writes to it.
      for (const stream of [started.stdin, started.stdout, started.stderr])
        stream.on('error', () => undefined)
      started.once('exit', (code, signalName) => {
        const printed = keeper.text().trim()
        end = `the process of the MCP server ended with ${signalName ?? `exit code ${code}`}${printed === '' ? '' : ` and printed: ${printed}`}`
        // The server has ended, so its child processes are killed too.
        if (started.pid !== undefined) signalGroup(started.pid, 'SIGKILL')
      })
      closed = new Promise((resolve) => {
        started.once('close', () => {
          resolve()
          transport.onclose?.()
        })
      })
      return new Promise((resolve, reject) => {
        started.once('spawn', () => resolve())
        started.once('error', (error) => {
          end ??= `the MCP server cannot be started: ${error.message}`
          reject(error)
          transport.onerror?.(error)
        })
      })
    },
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        const input = child?.stdin
        if (!input || end !== null) return reject(new Error(end ?? 'the MCP server is not running'))
        if (input.write(sdk.serializeMessage(message))) resolve()
        else {
          input.once('drain', resolve)
          input.once('close', () => reject(new Error(end ?? 'the MCP server does not read its input')))
        }
      }),
    close: async () => {
      const running = child
      if (running?.pid === undefined || end !== null) return
      running.stdin?.end()
      for (const signalName of ['SIGTERM', 'SIGKILL'] as const) {
        const waited = new AbortController()
        await Promise.race([closed, program.clock.sleep(endGraceMs, waited.signal).catch(() => undefined)])
        waited.abort()
        if (end !== null) return
        signalGroup(running.pid, signalName)
      }
      await closed
    },
  }

  function receive(bytes: Buffer): void {
    try {
      buffer.append(bytes)
    } catch (error) {
      transport.onerror?.(asError(error))
      void transport.close()
      return
    }
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) return
        transport.onmessage?.(message)
      } catch (error) {
        // One output line is no message of the protocol; the next lines are still read.
        transport.onerror?.(asError(error))
      }
    }
  }

  return transport
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
