import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { harnessServerName } from '@flotilla/protocol/harness-variable'
import { createInTurn } from '@flotilla/protocol/turns'
import { rewriteStream } from '../mcp-servers/rewrite-stream.ts'
import { withWrittenArguments, writtenArguments } from '../mcp-servers/written-messages.ts'
import { cleanAndCut } from '../tools/cut-middle.ts'
import type { Tool } from '../tools/tool.ts'
import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import type { CallMeshTool, MeshToolAnswer } from './call-mesh-tool.ts'
import { paceOutput } from './pace-output.ts'

/** Connections to the tools at the same time: the harness, and sub-agents of its own that open one each. */
const connectionsMax = 16
/** Longest message of a client in bytes: the largest input of a tool, with room for its JSON. */
const messageMaxBytes = 2 * 1024 * 1024
/** Answers that a client does not read, in bytes; with more its connection ends. */
const unreadMaxBytes = 8 * 1024 * 1024
/** Calls that wait for their turn. */
const waitingCallsMax = 32
/** Longest reason of a refused call, in characters. */
const reasonMaxChars = 500
/** The longest path of a socket that every system accepts, in bytes. */
const socketPathMaxBytes = 100

/**
 * A program that connects its standard streams to the socket whose path is its argument. Every harness can start such a
 * server, while few can connect to a socket themselves.
 */
const bridge =
  "const s=require('node:net').connect(process.argv[1]);s.on('error',()=>process.exit(1));s.on('close',()=>process.exit(0));process.stdin.pipe(s);s.pipe(process.stdout)"

export interface MeshToolServer {
  /** How a harness starts the server, in the words of the protocol. */
  readonly mcpServer: {
    readonly name: string
    readonly command: string
    readonly args: string[]
    readonly env: { readonly name: string; readonly value: string }[]
  }
  /** Resolves when no call is under way or waits for its turn. */
  idle(): Promise<void>
  /** Ends all connections. Calls that are under way continue. */
  close(): Promise<void>
}

/**
 * Offers tools of the mesh as an MCP server on a socket that exists as long as the run. The socket grants nothing that
 * the container does not have: the mesh decides each call by the run.
 */
export async function serveMeshTools(deps: {
  readonly tools: readonly Tool[]
  readonly call: CallMeshTool
  readonly clock: Clock
}): Promise<MeshToolServer> {
  const { Server, StdioServerTransport, serveStdio } = await import('../parts/mcp-server.ts')
  const byName = new Map(deps.tools.map((tool) => [tool.definition.name, tool]))
  const inTurn = createInTurn()
  let waiting = 0

  const call = async (name: string, written: string, asked: AbortSignal): Promise<MeshToolAnswer> => {
    const tool = byName.get(name)
    if (tool === undefined) return failed(`There is no tool ${name.slice(0, 100)}.`)
    if (waiting >= waitingCallsMax)
      return failed(`${waitingCallsMax} calls wait already. Wait for their results.`)
    waiting += 1
    try {
      return await inTurn(() => deps.call(tool, written, asked))
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error))
    } finally {
      waiting -= 1
    }
  }
  const newServer = () => {
    const server = new Server({ name: harnessServerName, version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({
      tools: deps.tools.map(({ definition: { name, description, parameters } }) => ({
        name,
        description,
        // The SDK's type names JSON values; the schema was parsed from JSON or written in this repository.
        inputSchema: { ...parameters, type: 'object' } as ListedTool['inputSchema'],
      })),
    }))
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const { output, ok, images } = await call(
        params.name,
        writtenArguments(params.arguments),
        mcpReq.signal,
      )
      const pictures = images.map(({ mediaType: mimeType, base64: data }) => ({
        type: 'image' as const,
        mimeType,
        data,
      }))
      return { content: [{ type: 'text' as const, text: output }, ...pictures], isError: !ok }
    })
    return server
  }

  const folder = await mkdtemp(join(shortFolder(), 'mesh-'))
  const path = join(folder, 's')
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    if (sockets.size >= connectionsMax) return void socket.destroy()
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    const paced = Readable.fromWeb(paceOutput(socket, deps.clock))
    // The SDK parses each message, which would change large numbers in the arguments of a call.
    const messages = rewriteStream('lines', messageMaxBytes, withWrittenArguments)
    pipeline(paced, messages, (error) => error && socket.destroy())
    const transport = new StdioServerTransport(messages, socket, { maxBufferSize: messageMaxBytes })
    const handle = serveStdio(newServer, { transport, maxSubscriptions: 1, onerror: () => undefined })
    socket.once('close', () => void handle.close().catch(() => undefined))
    const onClose = transport.onclose
    // The SDK leaves the socket open, and a client that sent too much would wait for an answer.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport of MCP has no listeners
    transport.onclose = () => {
      onClose?.()
      socket.destroy()
    }
    messages.on('data', () => {
      if (socket.writableLength > unreadMaxBytes) socket.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(path, resolve)
  })
  return {
    mcpServer: { name: harnessServerName, command: process.execPath, args: ['-e', bridge, path], env: [] },
    idle: () => inTurn(async () => undefined),
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        listener.close(() => resolve())
      })
      for (const socket of sockets) socket.destroy()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function shortFolder(): string {
  const folder = tmpdir()
  return Buffer.byteLength(folder) + 20 > socketPathMaxBytes ? '/tmp' : folder
}

function failed(reason: string): MeshToolAnswer {
  return { output: cleanAndCut(`Error (bad-request): ${reason}`, reasonMaxChars), ok: false, images: [] }
}
