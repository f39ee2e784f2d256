import type { Agent, IncomingMessage } from 'node:http'
import { chatFrameSchema } from '@flotilla/protocol/agent-api'
import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import type { AgentEndpointName } from '@flotilla/protocol/agent-endpoints'
import type { Clock } from '@flotilla/protocol/clock'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { Problem } from '@flotilla/protocol/problem'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import type { ServerSentEvent } from '@flotilla/protocol/server-sent-events'
import * as z from 'zod'
import type { HeldBytes, LoopShare } from '@flotilla/foundation/intake'
import { parseFirst, readJson, readJsonQuietly } from '@flotilla/foundation/intake'
import { BrokenLine, bodyChunks, openExchange, readBody } from './agent-exchange.ts'
import type { AgentAddress } from './agent-exchange.ts'
import type { MeshIdentity } from './mesh-identity.ts'

/** Largest reply, and largest frame of a stream, bytes: a run's result contains the outputs of all its tools. */
const replyMaxBytes = 4 * 1024 * 1024
/**
 * The maximum size in bytes of a reply with only a state or an acknowledgement. The memory budget does not count such
 * replies, so they never wait.
 */
const smallReplyMaxBytes = 16 * 1024
const smallReplies: ReadonlySet<AgentEndpointName> = new Set([
  'healthz',
  'status',
  'task',
  'invoke',
  'chatSteer',
  'cancel',
  'fileWrite',
  'workspaceWrite',
])
/** Pause before the mesh requests an outcome again that it had no memory for, milliseconds. */
const emptyBucketRetryMs = 2000
/** Limit of all bytes that an agent sends in one streamed turn, bytes. */
const streamMaxBytes = 64 * 1024 * 1024
/** A stream without a byte for this time is broken, milliseconds; an agent sends a keep-alive comment every 15 s. */
const streamIdleMs = 60_000
/** Time limit of a call that the agent can answer at once, from its first byte to its last, milliseconds. */
export const callDeadlineMs = 15_000

/**
 * Problem codes of the agent that are passed to a person who uploads a file; other problems concern the mesh
 * alone.
 */
const passedCodes: readonly ProblemCode[] = [
  'path-refused',
  'body-too-large',
  'unprocessable',
  'not-found',
  'conflict',
]

export interface ReplyShares {
  readonly held: HeldBytes
  /** Memory budget for downloaded files, which a slow reader can occupy for long; replies have a separate budget. */
  readonly downloads: HeldBytes
  readonly loop: Pick<LoopShare, 'spend' | 'waitMs'>
}

/** A file whose bytes count as memory in use until `giveBack` is called; repeated `giveBack` calls do nothing. */
export interface HeldFile {
  readonly content: Uint8Array
  giveBack(): void
}

export interface AgentLineDeps {
  readonly agentId: string
  readonly address: AgentAddress
  readonly identity: MeshIdentity
  readonly clock: Clock
  /** Limits the memory and the event loop time of the mesh that the replies of each agent may use. */
  readonly replies: ReplyShares
  /** HTTP client with keep-alive; the connections to all agents share it, and its creator closes it. */
  readonly http: Agent
  /** Replaces the idle timeout of one minute in tests, milliseconds. */
  readonly idleTimeoutMs?: number
}

export interface Send {
  readonly endpoint: AgentEndpointName
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly bytes?: Uint8Array
  readonly deadlineMs?: number
  /** The token to send instead of a signed one; `started` sends the agent token. */
  readonly proof?: string
  readonly signal: AbortSignal
  readonly onTaken?: (() => void) | undefined
}

/** The HTTP connection to an agent's process. Replies are untrusted: bounded and parsed. */
interface AgentLine {
  /** Sends a call and returns its parsed reply. Rejects with `agent-unavailable` or a problem that people may see. */
  call<Schema extends z.core.$ZodType>(send: Send, schema: Schema): Promise<z.output<Schema>>
  /**
   * Returns a complete binary reply, which counts as memory in use until the caller releases it. Problems
   * `body-too-large` above `maxBytes`, `rate-limited` if the memory budget is used up.
   */
  bytes(send: Send, maxBytes: number): Promise<HeldFile>
  /** Like `call`, but repeats it until `send.signal` aborts while the mesh has no memory or time for the reply. */
  callPatiently<Schema extends z.core.$ZodType>(send: Send, schema: Schema): Promise<z.output<Schema>>
  /** Passes on frames as they arrive. Returns the result at the stream's end; null if the connection broke before. */
  stream(send: Send, followed: FollowedStream): Promise<TaskResult | null>
  /** Passes on a run's frames only for display; errors of the connection are ignored. */
  watch(send: Send, followed: FollowedStream): Promise<void>
}

export function createAgentLine(deps: AgentLineDeps): AgentLine {
  const idleTimeoutMs = deps.idleTimeoutMs ?? streamIdleMs
  const share = shareOf(deps)

  function open(send: Send): Promise<IncomingMessage> {
    const { method, path } = agentEndpoints[send.endpoint]
    const query = send.query ? `?${new URLSearchParams(send.query).toString()}` : ''
    const body = send.bytes ?? (send.json === undefined ? undefined : Buffer.from(JSON.stringify(send.json)))
    return openExchange(deps.http, deps.address, {
      method,
      path: fillPath(path, send.params ?? {}) + query,
      headers: {
        authorization: `Bearer ${send.proof ?? deps.identity.signFor(deps.agentId)}`,
        ...(send.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(send.bytes === undefined ? {} : { 'content-type': 'application/octet-stream' }),
      },
      ...(body === undefined ? {} : { body }),
      idleTimeoutMs,
      signal: send.signal,
      onTaken: send.onTaken,
    })
  }

  async function call<Schema extends z.core.$ZodType>(send: Send, schema: Schema): Promise<z.output<Schema>> {
    const isSmall = smallReplies.has(send.endpoint)
    const held = share.hold()
    const bounds = isSmall ? smallBounds : { maxBytes: replyMaxBytes, hold: held.take }
    const deadline = AbortSignal.timeout(send.deadlineMs ?? callDeadlineMs)
    const signal = AbortSignal.any([send.signal, deadline])
    try {
      if (!isSmall) await share.room(signal)
      const reply = await open({ ...send, signal })
      const body = await readBody(reply, bounds, signal)
      return share.spend(() => {
        if (reply.statusCode !== 200) throw refusal(deps.agentId, reply.statusCode ?? 0, body)
        return readReply(schema, body)
      })
    } catch (error) {
      throw send.signal.aborted ? send.signal.reason : unavailable(deps.agentId, error)
    } finally {
      held.giveBack()
    }
  }

  async function bytes(send: Send, maxBytes: number): Promise<HeldFile> {
    const held = share.holdFile()
    const deadline = AbortSignal.timeout(send.deadlineMs ?? callDeadlineMs)
    const signal = AbortSignal.any([send.signal, deadline])
    try {
      await share.room(signal)
      const reply = await open({ ...send, signal })
      const size = Number(reply.headers['content-length'] ?? 0)
      if (reply.statusCode === 200 && size > maxBytes) {
        reply.destroy()
        throw new Problem('body-too-large', {
          detail: `the file has ${size} bytes; at most ${maxBytes} bytes can be downloaded`,
          repair:
            'Ask the agent to save the part that you need as a smaller file or as an artifact (flotilla artifacts lists them).',
        })
      }
      const body = await readBody(reply, { maxBytes, hold: held.take }, signal)
      if (reply.statusCode !== 200)
        throw share.spend(() => refusal(deps.agentId, reply.statusCode ?? 0, body))
      return { content: body, giveBack: held.giveBack }
    } catch (error) {
      held.giveBack()
      if (send.signal.aborted) throw send.signal.reason
      // The mesh's own budget was the reason and not the agent: the caller can retry after earlier requests.
      throw isOurRefusal(error) ? error : unavailable(deps.agentId, error)
    }
  }

  async function stream(send: Send, followed: FollowedStream): Promise<TaskResult | null> {
    const { signal } = send
    try {
      const reply = await open(send)
      if (reply.statusCode !== 200) {
        const body = await readBody(reply, smallBounds, signal)
        throw share.spend(() => refusal(deps.agentId, reply.statusCode ?? 0, body))
      }
      return await followStream(reply, followed, share)
    } catch (error) {
      throw signal.aborted ? signal.reason : unavailable(deps.agentId, error)
    }
  }

  async function callPatiently<Schema extends z.core.$ZodType>(
    send: Send,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    for (;;) {
      await share.room(send.signal)
      try {
        return await call(send, schema)
      } catch (error) {
        if (!(error instanceof Problem) || !isOurRefusal(error.cause)) throw error
      }
      await deps.clock.sleep(emptyBucketRetryMs, send.signal)
    }
  }

  return {
    bytes,
    call,
    callPatiently,
    stream,
    watch: async (send, followed) => {
      try {
        const reply = await open(send)
        if (reply.statusCode === 200) await followStream(reply, followed, share)
        else reply.destroy()
      } catch {
        // Ignored: the outcome is requested separately, and that request reports a connection error.
      }
    },
  }
}

interface FollowedStream {
  readonly runId: string
  readonly onFrame: (frame: ChatFrame) => void
  readonly signal: AbortSignal
}

interface Holding {
  take(bytes: number): void
  giveBack(): void
}

interface Share {
  /** Resolves when the agent may use the mesh's event loop again, because part of its share was restored. */
  room(signal: AbortSignal): Promise<void>
  spend<T>(work: () => T): T
  /** Starts counting the memory that the mesh uses for one reply. */
  hold(): Holding
  /** Starts counting the memory that the mesh uses for one downloaded file. */
  holdFile(): Holding
}

function shareOf({ agentId, clock, replies: { held, downloads, loop } }: AgentLineDeps): Share {
  return {
    room: async (signal) => {
      for (let wait = loop.waitMs(agentId); wait > 0; wait = loop.waitMs(agentId))
        await clock.sleep(wait, signal)
    },
    spend: (work) => loop.spend(agentId, work),
    hold: () => holdingOf(held, agentId),
    holdFile: () => holdingOf(downloads, agentId),
  }
}

function holdingOf(held: HeldBytes, agentId: string): Holding {
  let kept = 0
  return {
    take: (bytes) => {
      held.take(agentId, bytes)
      kept += bytes
    },
    giveBack: () => {
      held.giveBack(agentId, kept)
      kept = 0
    },
  }
}

const smallBounds = { maxBytes: smallReplyMaxBytes, hold: () => {} }

/**
 * Returns the result at the end of the stream; null if the connection broke before, or if the mesh has no room for a
 * frame. The caller then requests the outcome. If an agent's frames have used up its share of the event loop, reading
 * waits until some of the share is restored.
 */
async function followStream(
  reply: IncomingMessage,
  stream: FollowedStream,
  share: Share,
): Promise<TaskResult | null> {
  const events = createServerSentEventParser(replyMaxBytes)
  const decoder = new TextDecoder()
  const held = share.hold()
  try {
    for await (const bytes of bodyChunks(reply, streamMaxBytes, stream.signal)) {
      const { result, frames } = share.spend(() =>
        takeFrames(events.push(decoder.decode(bytes, { stream: true })), stream),
      )
      if (result !== null) return result
      // The bytes of an incomplete frame count as memory in use until the frame is complete.
      if (frames > 0) held.giveBack()
      else held.take(bytes.length)
      await share.room(stream.signal)
    }
    return null
  } catch (error) {
    if (error instanceof BrokenLine || isOurRefusal(error)) return null
    throw error
  } finally {
    held.giveBack()
    reply.destroy()
  }
}

function takeFrames(
  events: readonly ServerSentEvent[],
  stream: FollowedStream,
): { readonly result: TaskResult | null; readonly frames: number } {
  for (const { data } of events) {
    const frame = readReply(chatFrameSchema, data)
    if (frame.type === 'done') requireSameRun(frame.result.run_id, stream.runId)
    stream.onFrame(frame)
    if (frame.type === 'done') return { result: frame.result, frames: events.length }
  }
  return { result: null, frames: events.length }
}

/** Parses an agent's reply. An invalid reply is the agent's error and not a Problem of the caller. */
function readReply<Schema extends z.core.$ZodType>(
  schema: Schema,
  bytes: Uint8Array | string,
): z.output<Schema> {
  let value: JsonValue
  try {
    value = readJson(bytes, jsonLimits.agentReply)
  } catch (cause) {
    throw new Error(messageOf(cause), { cause })
  }
  const parsed = parseFirst(schema, value)
  if (parsed.success) return parsed.data
  throw parsed.error
}

function requireSameRun(reportedRunId: string, requestedRunId: string): void {
  if (reportedRunId !== requestedRunId) throw new Error('the result is of another run')
}

const refusalSchema = z.looseObject({ code: z.string(), detail: z.string() })

/** Translates an agent's refusal for callers. The agent's text is included only if it concerns a person's input. */
function refusal(agentId: string, status: number, body: Buffer): Problem {
  const parsed = refusalSchema.safeParse(readJsonQuietly(body, jsonLimits.agentReply))
  const code = parsed.success && isProblemCode(parsed.data.code) ? parsed.data.code : null
  if (parsed.success && code && passedCodes.includes(code)) {
    return new Problem(code, { detail: parsed.data.detail.slice(0, 500) })
  }
  return new Problem('agent-unavailable', {
    detail: `agent ${agentId} answered ${status}${code ? ` (${code})` : ''}`,
    extra: { agent_status: status, ...(code ? { agent_code: code } : {}) },
  })
}

/** Returns true if the mesh refused because replies used up their budget; an agent's own reply never causes this. */
function isOurRefusal(error: unknown): boolean {
  return error instanceof Problem && error.code === 'rate-limited'
}

export function unavailable(agentId: string, error: unknown): Problem {
  if (error instanceof Problem && !isOurRefusal(error)) return error
  const reason =
    error instanceof z.core.$ZodError
      ? 'the answer of the agent does not have the expected form'
      : messageOf(error)
  return new Problem('agent-unavailable', {
    detail: `agent ${agentId} cannot be reached: ${reason}`,
    cause: error,
  })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 300) : 'the connection to the agent was lost'
}
