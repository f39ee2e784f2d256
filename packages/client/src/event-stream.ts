import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import type { ServerSentEvent } from '@flotilla/protocol/server-sent-events'
import { reach } from './mesh-call.ts'
import type { MeshConnection } from './mesh-call.ts'
import type { MeshReader, MeshReply } from './mesh-reply.ts'
import { meshUnreachable } from './unreachable.ts'

/** A stream is dead after this many missed keep-alive comments. */
const silenceMs = wireLimits.keepAliveMs * 3
/** The longest accepted event, in characters; an API that sends a longer one is broken. */
const eventMaxChars = 8 * 1024 * 1024

export interface StreamDeps {
  readonly connection: MeshConnection
  readonly clock: Clock
}

/**
 * Yields the server-sent events of one reply, in order, until the server closes the stream. Rejects with a Problem
 * when the connection breaks or is silent for 45 s, and with the signal's reason on an abort.
 */
export async function* readServerSentEvents(
  deps: StreamDeps,
  reply: MeshReply,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  if (reply.body === null) return
  const reader = reply.body.getReader()
  const decoder = new TextDecoder()
  const parser = createServerSentEventParser(eventMaxChars)
  try {
    for (;;) {
      const chunk = await readWithin(deps, reader, signal)
      if (chunk === null) return
      yield* parser.push(decoder.decode(chunk, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** The shortest and the longest wait before a connection is tried again. */
const backoff = { firstMs: 250, maxMs: 5000 } as const

/** Returns the wait in ms before the next connection. `null`, after one that delivered events, starts over. */
export function nextWaitMs(previousMs: number | null): number {
  return previousMs === null ? backoff.firstMs : Math.min(backoff.maxMs, previousMs * 2)
}

async function readWithin(
  deps: StreamDeps,
  reader: MeshReader,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  const bound = new AbortController()
  const silence = deps.clock
    .sleep(silenceMs, signal ? AbortSignal.any([bound.signal, signal]) : bound.signal)
    .then(() => {
      throw meshUnreachable(deps.connection.baseUrl, new Error('the event stream sent nothing for too long'))
    })
  silence.catch(() => undefined)
  try {
    const part = await reach(deps.connection, () => Promise.race([reader.read(), silence]), signal)
    return part.done ? null : part.value
  } finally {
    bound.abort()
  }
}
