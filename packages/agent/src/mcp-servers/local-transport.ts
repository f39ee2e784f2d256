import type { Clock } from '@flotilla/protocol/clock'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { startPipedProgram } from '../programs/piped-program.ts'
import type { PipedProgram } from '../programs/piped-program.ts'
import { createRewriter } from './rewrite-stream.ts'
import { withWrittenResult } from './written-messages.ts'

type Sdk = Pick<typeof import('../parts/mcp.ts'), 'ReadBuffer' | 'serializeMessage'>

/** Longest message of a server in bytes. */
const messageMaxBytes = 8 * 1024 * 1024

/** Communicates with a program over its standard streams. */
export interface LocalTransport extends Transport {
  /** The SDK's client recognizes a transport over standard streams by the fields `pid` and `stderr`. */
  readonly pid: number | null
  readonly stderr: null
  /** How the server ended, and its last output; null while the server runs. */
  ended(): string | null
}

/** Runs an MCP server as a program; the SDK reads and writes its messages. */
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
  const buffer = new sdk.ReadBuffer({ maxBufferSize: messageMaxBytes })
  const rewriter = createRewriter('lines', messageMaxBytes, withWrittenResult)
  let server: PipedProgram | null = null

  const transport: LocalTransport = {
    get pid() {
      return server?.pid ?? null
    },
    stderr: null,
    ended: () => server?.ended() ?? null,
    start: async () => {
      const { command, args, environment, directory, clock } = program
      const started = startPipedProgram({
        what: 'MCP server',
        command,
        args,
        environment,
        directory,
        priority: 'server',
        clock,
      })
      server = started
      started.output.on('data', (bytes: Buffer) => receive(bytes))
      void started.closed.then(() => transport.onclose?.())
      await started.started.catch((error: unknown) => {
        transport.onerror?.(asError(error))
        throw error
      })
    },
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        const end = server?.ended() ?? null
        if (server === null || end !== null) return reject(new Error(end ?? 'the MCP server is not running'))
        const { input, ended } = server
        if (input.write(sdk.serializeMessage(message))) resolve()
        else {
          input.once('drain', resolve)
          input.once('close', () => reject(new Error(ended() ?? 'the MCP server does not read its input')))
        }
      }),
    close: async () => server?.close(),
  }

  function receive(bytes: Buffer): void {
    try {
      buffer.append(rewriter.push(bytes))
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
