import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { followEvents } from './follow-events.ts'
import type { FollowOptions } from './follow-events.ts'
import { reach, readReply, sendCall } from './mesh-call.ts'
import type { CallParts, MeantHome, MeshConnection, Reply } from './mesh-call.ts'
import type { MeshFetch } from './mesh-reply.ts'
import type { PeopleEndpointName } from './people-api.ts'
import { streamChat, streamRun } from './stream-chat.ts'
import type { ChatOptions } from './stream-chat.ts'
import { systemClock } from './system-clock.ts'

export interface MeshClientOptions {
  readonly baseUrl: string
  readonly fetch?: MeshFetch
  readonly cookie?: string | undefined
  /** The personal token of a person in the mesh's people file. */
  readonly token?: string | undefined
  readonly clock?: Clock
  /** The name of the calling program; the mesh records the surface through which a person called. */
  readonly userAgent?: string
  /** The name of a page, which cannot set the `User-Agent` header. */
  readonly requestedWith?: string
  /** The owner's proof that a page holds, for actions that cannot be undone. */
  readonly proof?: () => string | undefined
  /** The home of the intended mesh; a mesh of another home rejects the call. */
  readonly home?: MeantHome | undefined
}

/** Typed calls to the people's API. Everything that fails rejects with a Problem. */
export interface MeshClient {
  readonly baseUrl: string
  /** Makes a call with a JSON reply, which is checked with the schema of its endpoint. */
  call<N extends PeopleEndpointName>(name: N, parts?: CallParts<N>): Promise<Reply<N>>
  /** Sends a call whose reply is bytes: an artifact, a cassette, metrics. */
  bytes<N extends PeopleEndpointName>(name: N, parts?: CallParts<N>): Promise<Uint8Array>
  /** Sends a call whose reply is a stream of bytes. */
  stream<N extends PeopleEndpointName>(
    name: N,
    parts?: CallParts<N>,
  ): AsyncGenerator<Uint8Array, void, undefined>
  /** Yields fleet events in order, each once, across reconnects. */
  events(options: FollowOptions): AsyncGenerator<FleetEvent, void, undefined>
  /** Yields the events of one chat turn as they happen, until the turn's outcome. */
  chatStream(
    agentId: string,
    message: string,
    options?: ChatOptions,
  ): AsyncGenerator<ChatStreamFrame, void, undefined>
  /** Yields the events of a run from its beginning, until its outcome; a broken stream begins again. */
  runStream(runId: string, signal?: AbortSignal): AsyncGenerator<ChatStreamFrame, void, undefined>
}

export function createMeshClient(options: MeshClientOptions): MeshClient {
  const connection: MeshConnection = {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    fetch: options.fetch ?? globalThis.fetch,
    cookie: options.cookie,
    token: options.token,
    userAgent: options.userAgent,
    requestedWith: options.requestedWith,
    proof: options.proof,
    home: options.home,
  }
  const deps = { connection, clock: options.clock ?? systemClock }
  return {
    baseUrl: connection.baseUrl,
    call: async (name, parts = {}) => {
      const response = await sendCall(connection, name, parts)
      return readReply(connection, { of: name, response }, parts.signal)
    },
    bytes: async (name, parts = {}) => {
      const reply = await sendCall(connection, name, { accept: '*/*', ...parts })
      return new Uint8Array(await reach(connection, () => reply.arrayBuffer(), parts.signal))
    },
    async *stream(name, parts = {}) {
      const reply = await sendCall(connection, name, { accept: '*/*', ...parts })
      const reader = reply.body?.getReader()
      try {
        for (;;) {
          const piece = reader && (await reach(connection, () => reader.read(), parts.signal))
          if (!piece || piece.done) return
          yield piece.value
        }
      } finally {
        await reader?.cancel().catch(() => undefined)
      }
    },
    events: (follow) => followEvents(deps, follow),
    chatStream: (agentId, message, chat) => streamChat(deps, { agentId, message }, chat),
    runStream: (runId, signal) => streamRun(deps, runId, signal),
  }
}
