import { AsyncLocalStorage } from 'node:async_hooks'
import { withMarkedNumbers } from '@flotilla/protocol/json-as-written'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson, readJsonQuietly } from '@flotilla/foundation/intake'
import { excerptOf } from '../../formats/answer/answer-frames.ts'
import { unreadable } from '../../formats/answer/unreadable.ts'
import { isRecord } from '../../formats/empty-answer.ts'
import type { ProviderOptions, ProviderReply } from '../../llm-provider.ts'
import { collect } from '../../wire/collect-reply.ts'
import { markEventNumbers } from './mark-event-numbers.ts'
import { exchange } from '../provider-exchange.ts'
import type { ProviderPool } from '../provider-pool.ts'
import { rewrittenBody } from '../rewritten-body.ts'
import type { AnswerWriter, BinaryWriter } from '../rewritten-body.ts'

/** What a writer gets of a call. */
interface WriterOptions extends Pick<ProviderOptions, 'billed' | 'judge'> {
  readonly stream: boolean
}

/** Writers that read an answer in any form and write the form that a package asked for. */
export interface AnswerWriters {
  /** The writer of events as text, or of a whole answer. */
  readonly text: (options: WriterOptions) => AnswerWriter
  /** The writer of a stream in a binary form, for a package that reads one in place of events. */
  readonly binary?: () => BinaryWriter
}

interface CallOfAgent {
  readonly agentId: string
  readonly bounds: Omit<ProviderOptions, 'signal'>
  /** The form of the answer that the package expects; null for embeddings. */
  readonly asked: 'stream' | 'whole' | null
}

/** The current call: packages pass no information about a call to `fetch`. */
const callUnderWay = new AsyncLocalStorage<CallOfAgent>()

/** Runs `work` so that requests of a package count for the call's bounds and the agent's share. */
export function fetchingFor<T>(call: CallOfAgent, work: () => Promise<T>): Promise<T> {
  return callUnderWay.run(call, work)
}

/**
 * The packages' only egress: the mesh's connections to one provider's origin, by the same transport as all providers.
 * A request to any other address throws the Problem `provider-refused`.
 */
export function createSdkFetch(
  pool: ProviderPool,
  base: URL,
  writers: AnswerWriters | null = null,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== base.origin) {
      throw new Problem('provider-refused', {
        detail: `the provider library tried to call another host than ${base.host}`,
      })
    }
    const reply = await exchange({
      pool,
      host: base.host,
      signal: init.signal ?? new AbortController().signal,
      request: {
        agentId: callUnderWay.getStore()?.agentId ?? null,
        method: init.method === 'GET' ? 'GET' : 'POST',
        path: `${url.pathname}${url.search}`,
        headers: Object.fromEntries(new Headers(init.headers)),
        body: bodyOf(init.body),
      },
    })
    const answer = await answerFor(reply, base.host, writers)
    const retryAfter = reply.retryAfterSeconds
    return new Response(answer.body, {
      status: answer.status,
      headers: {
        'content-type': answer.contentType,
        ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
        ...(reply.repliedAt === undefined ? {} : { date: new Date(reply.repliedAt).toUTCString() }),
        ...(reply.errorType === undefined ? {} : { 'x-amzn-errortype': reply.errorType }),
      },
    })
  }
}

interface PackageAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string | ReadableStream<Uint8Array>
}

/**
 * Returns the answer in the form that the package asked for, whatever form and type the provider sent. Without
 * writers it passes unchanged.
 */
async function answerFor(
  reply: ProviderReply,
  host: string,
  writers: AnswerWriters | null,
): Promise<PackageAnswer> {
  const { status, contentType, body } = reply
  const call = callUnderWay.getStore()
  const answerForm = status === 200 ? (call?.asked ?? null) : null
  const { billed, judge } = call?.bounds ?? {}
  const ofCall = { ...(billed ? { billed } : {}), ...(judge ? { judge } : {}) }
  if (writers !== null && answerForm === 'stream') {
    if (writers.binary) {
      return { status, contentType, body: ReadableStream.from(rewrittenBody(body, writers.binary())) }
    }
    const events = markEventNumbers(rewrittenBody(body, writers.text({ stream: true, ...ofCall })))
    return { status, contentType: 'text/event-stream', body: ReadableStream.from(events) }
  }
  if (writers !== null && answerForm === 'whole') {
    const writer = writers.text({ stream: false, ...ofCall })
    const text = await measured(reply, host, (read) => writer.take(Buffer.from(read)) + writer.end())
    return { status: statusIn(text), contentType: 'application/json', body: text }
  }
  if (answerForm === 'stream' && /^(?:text\/html|application\/json)/.test(contentType)) {
    // An error or a page comes in place of a stream.
    const text = await measured(reply, host, (read) => read)
    throw unreadable(`a whole answer came in place of a stream: ${excerptOf(text)}`)
  }
  if (status === 200 && contentType.includes('json'))
    return { status, contentType, body: await measured(reply, host, (text) => text) }
  return { status, contentType, body: ReadableStream.from(body) }
}

/** Statuses by Anthropic's types and OpenAI's codes of errors, for an error that replaces an answer with status 200. */
const statusByType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
  insufficient_quota: 429,
  rate_limit_exceeded: 429,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  invalid_encrypted_content: 400,
  model_not_found: 404,
}
const beginsAsError = /^\{(?:"type":"error",)?"error":/

/** Returns the status of a whole answer: an error in its place has the status that its type or code means. */
function statusIn(text: string): number {
  if (!beginsAsError.test(text)) return 200
  const { error } = membersOf(readJsonQuietly(text, jsonLimits.packageAnswer))
  const { type, code } = membersOf(error)
  if (typeof code === 'number' && code >= 400 && code <= 599) return code
  const named = [code, type].find((one) => typeof one === 'string' && one in statusByType)
  return statusByType[String(named)] ?? 500
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** Bounds a whole answer, because a package parses all of it at once. Marks its large numbers. */
async function measured(
  reply: ProviderReply,
  host: string,
  write: (text: string) => string,
): Promise<string> {
  const bounds = callUnderWay.getStore()?.bounds ?? {}
  const measure = (read: string) => {
    const text = write(read)
    return { text, ...measureJson(Buffer.from(text), jsonLimits.packageAnswer) }
  }
  const { text, fault } = await collect(reply, bounds, measure).catch((error: unknown) => {
    // An unread rest would keep the connection busy.
    reply.discard()
    throw error
  })
  if (fault === null) return marked(text)
  throw new Problem('upstream-failed', { detail: `the answer of ${host} ${fault}` })
}

/** Marks large numbers in JSON; the package rejects text that is not JSON. */
function marked(text: string): string {
  try {
    return withMarkedNumbers(text)
  } catch {
    return text
  }
}

function bodyOf(body: unknown): string | Uint8Array | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (body === null || body === undefined) return null
  throw new Problem('provider-refused', {
    detail: 'the provider library sent a request body of an unknown kind',
  })
}
