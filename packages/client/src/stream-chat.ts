import { chatStreamFrameSchema } from '@flotilla/protocol/mesh-human-api'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { nextWaitMs, readServerSentEvents } from './event-stream.ts'
import type { StreamDeps } from './event-stream.ts'
import { parseJson, sendCall, versionMismatch } from './mesh-call.ts'
import { isMeshUnreachable, meshUnreachable } from './unreachable.ts'

export interface ChatOptions {
  readonly session?: string
  /** What the run and all work that it hands off may spend, in US dollars. */
  readonly maxUsd?: number
  /** The key of the run: after a broken stream, a request with the same key continues to follow this run. */
  readonly idempotencyKey?: string
  /** True if the caller confirms with `runRead` that it has shown the outcome. */
  readonly confirmsRead?: boolean
  readonly signal?: AbortSignal | undefined
}

/** How often a broken stream of one chat is opened again in a row. */
const reopeningsMax = 20

/**
 * One chat turn as it happens: `accepted` once, then events of the run and its descendants, then `ended` once.
 * Rejects with a Problem when the mesh refuses, or when the stream breaks and cannot be resumed; the run
 * itself goes on in the mesh either way.
 */
export async function* streamChat(
  deps: StreamDeps,
  ask: { readonly agentId: string; readonly message: string },
  options: ChatOptions = {},
): AsyncGenerator<ChatStreamFrame, void, undefined> {
  let accepted = false
  let reopenings = 0
  let waitMs: number | null = null
  for (;;) {
    try {
      const reply = await sendCall(deps.connection, 'chat', {
        params: { id: ask.agentId },
        body: {
          message: ask.message,
          ...(options.session === undefined ? {} : { session: options.session }),
          ...(options.maxUsd === undefined ? {} : { max_usd: options.maxUsd }),
        },
        accept: 'text/event-stream',
        signal: options.signal,
        ...(options.confirmsRead === undefined ? {} : { confirmsRead: options.confirmsRead }),
        ...(options.idempotencyKey === undefined ? {} : { idempotencyKey: options.idempotencyKey }),
      })
      for await (const { data } of readServerSentEvents(deps, reply, options.signal)) {
        const frame = parseFrame(data)
        if (frame.type === 'accepted' && accepted) continue
        if (frame.type === 'accepted') accepted = true
        reopenings = 0
        yield frame
        if (frame.type === 'ended') return
      }
      throw meshUnreachable(deps.connection.baseUrl, new Error('the stream ended before the run had ended'))
    } catch (error) {
      if (!accepted || options.idempotencyKey === undefined || !isMeshUnreachable(error)) throw error
      reopenings += 1
      if (reopenings > reopeningsMax) throw error
    }
    waitMs = nextWaitMs(waitMs)
    await deps.clock.sleep(waitMs, options.signal)
  }
}

/**
 * One run from its beginning: `accepted`, its events, then `ended` once. A stream that breaks begins again with
 * `accepted`. Rejects with a Problem when the mesh refuses, or when the stream cannot be resumed.
 */
export async function* streamRun(
  deps: StreamDeps,
  runId: string,
  signal?: AbortSignal,
): AsyncGenerator<ChatStreamFrame, void, undefined> {
  let reopenings = 0
  let waitMs: number | null = null
  for (;;) {
    try {
      const call = { params: { id: runId }, accept: 'text/event-stream', signal }
      const reply = await sendCall(deps.connection, 'runStream', call)
      for await (const { data } of readServerSentEvents(deps, reply, signal)) {
        const frame = parseFrame(data)
        yield frame
        if (frame.type === 'ended') return
      }
      throw meshUnreachable(deps.connection.baseUrl, new Error('the stream ended before the run had ended'))
    } catch (error) {
      reopenings += 1
      if (!isMeshUnreachable(error) || reopenings > reopeningsMax) throw error
    }
    waitMs = nextWaitMs(waitMs)
    await deps.clock.sleep(waitMs, signal)
  }
}

function parseFrame(data: string): ChatStreamFrame {
  const parsed = chatStreamFrameSchema.safeParse(parseJson(data))
  if (!parsed.success) throw versionMismatch('a frame', parsed.error.issues[0]?.message ?? 'wrong form')
  return parsed.data
}
