import type { MeshClient } from '@flotilla/client/mesh-client'
import type { Clock } from '@flotilla/protocol/clock'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import type { Environment } from './environment.ts'
import type { ExitCode } from './exit-codes.ts'
import { locateMesh } from './mesh-process/locate-mesh.ts'
import type { Place } from './mesh-process/locate-mesh.ts'
import { meantHome } from './mesh-process/meant-home.ts'
import { sessionFor } from './mesh-process/own-session.ts'
import { createTerminal } from './terminal/terminal.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { TextSink } from './terminal/text-sink.ts'
import { resolve } from 'node:path'

/** What the process gives to every command. */
export interface CliDeps {
  readonly environment: Environment
  readonly clock: Clock
  readonly out: TextSink
  readonly err: TextSink
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  /** Returns a new idempotency key for each request, so that a broken stream can be resumed. */
  readonly newKey: () => string
  /** Aborts on the second Ctrl-C, or on the first if no command handles it. */
  readonly signal: AbortSignal
  /** Registers a command's own handler of Ctrl-C; returns the function that unregisters it. */
  readonly onInterrupt: (listener: () => void) => () => void
  readonly setExitCode: (code: ExitCode) => void
  /** Returns the command line with all its commands, to generate documentation from it. */
  readonly wholeProgram: () => Promise<Command>
  /** Runs another command line within this one. Usage errors are already printed; all other errors reject. */
  readonly runLine: (deps: CliDeps, words: readonly string[]) => Promise<void>
}

/** One command's view: its terminal, its place, its mesh. */
export interface CommandContext extends CliDeps {
  readonly terminal: Terminal
  readonly place: Place
  /** The client of the mesh. It shows a status line during slow calls, unless another writer uses the terminal. */
  mesh(options?: { readonly silent: boolean }): Promise<MeshClient>
  /** Returns a client for a mesh of this machine at this address and home; the command's own home is ignored. */
  meshAt(mesh: { readonly url: string; readonly home: string }): Promise<MeshClient>
}

const sharedSchema = z.looseObject({
  json: z.optional(z.boolean()),
  home: z.optional(z.string()),
  port: z.optional(z.number()),
  url: z.optional(z.string()),
})

/** Wraps a client so that slow calls show a status line. */
function telling(client: MeshClient, terminal: Terminal): MeshClient {
  const call: MeshClient['call'] = async (...parts) => {
    const ended = terminal.working(() => 'Waiting for the mesh')
    try {
      return await client.call(...parts)
    } finally {
      ended()
    }
  }
  return { ...client, call }
}

/** Reads the global options, which may appear anywhere on the command line. */
export function contextOf(deps: CliDeps, command: Command): CommandContext {
  const shared = sharedSchema.parse(command.optsWithGlobals())
  const place: Place = {
    home: shared.home === undefined ? deps.environment.home : resolve(shared.home),
    homeOnLine: shared.home !== undefined,
    port: shared.port,
    url: shared.url,
  }
  const terminal = createTerminal({
    out: deps.out,
    err: deps.err,
    json: shared.json === true,
    colors: deps.environment.colors,
    clock: deps.clock,
    command: deps.environment.command,
  })
  const elsewhere = (place.url ?? deps.environment.url) !== undefined
  const connect = async (baseUrl: string, at: Place, silent = false): Promise<MeshClient> => {
    // The client has the schemas of all endpoints, which takes a third of the start of a command that calls no mesh.
    const [{ createMeshClient }, { nodeFetch }] = await Promise.all([
      import('@flotilla/client/mesh-client'),
      import('@flotilla/client/node-fetch'),
    ])
    const cookie = await sessionFor({ home: at.home, elsewhere }, deps.environment, deps.signal)
    // The home's id is read for each new client, because the first start of a mesh creates the id.
    const home = await meantHome(at, deps.environment)
    const { personToken: token } = deps.environment
    const client = createMeshClient({
      baseUrl,
      cookie,
      token,
      home,
      clock: deps.clock,
      fetch: nodeFetch,
      userAgent: 'flotilla-cli',
    })
    return silent ? client : telling(client, terminal)
  }
  return {
    ...deps,
    terminal,
    place,
    mesh: async (options) =>
      connect(await locateMesh(place, deps.environment), place, options?.silent === true),
    meshAt: ({ url, home }) => connect(url, { ...place, home, homeOnLine: true }),
  }
}
