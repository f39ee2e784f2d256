import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import type { ProviderReply } from '../../llm-provider.ts'
import { dateIn, retryAfterIn } from '../../refusals/retry-after.ts'

/** How much of an error message of the AI SDK is quoted, in characters. */
const messageMaxChars = 500
/** How many nested causes of an error of the AI SDK are searched. */
const causesMax = 8

/** The error that packages throw for an error response. Several copies of the class exist, so `instanceof` fails. */
const callErrorSchema = z.looseObject({
  name: z.literal('AI_APICallError'),
  message: z.string(),
  statusCode: z.number().optional(),
  responseHeaders: z.record(z.string(), z.string()).optional(),
  responseBody: z.string().optional(),
})

/** Names of errors that the packages throw before they send a request. */
const unsupportedRequest =
  /^AI_(?:UnsupportedFunctionality|InvalidPrompt|InvalidArgument|TooManyEmbeddingValues)/

/** Converts a package's error to the provider's error response; null for any other error. Pure. */
export function refusalIn(error: unknown): ProviderReply | null {
  const parsed = callErrorSchema.safeParse(plain(error))
  const status = parsed.data?.statusCode
  if (!parsed.success || status === undefined || status < 400) return null
  const { message, responseBody, responseHeaders = {} } = parsed.data
  const ms = retryAfterIn((name) => responseHeaders[name])
  const errorType = responseHeaders['x-amzn-errortype']
  const repliedAt = dateIn(responseHeaders['date'])
  // The provider's own body is more exact than the package's message.
  const body = responseBody?.trim().startsWith('{') ? responseBody : JSON.stringify({ error: { message } })
  return {
    status,
    contentType: 'application/json',
    retryAfterSeconds: ms === null ? null : ms / 1000,
    ...(errorType === undefined ? {} : { errorType }),
    ...(repliedAt === null ? {} : { repliedAt }),
    body: onePiece(body),
    discard: () => {},
  }
}

/** Converts any other error of a package to a Problem without secrets. Pure. */
export function problemIn(error: unknown, host: string, secrets: readonly Secret[]): Problem {
  const own = problemAmongCauses(error)
  if (own) return own
  const { name, message } = plain(error)
  const text = redact(message, secrets).slice(0, messageMaxChars)
  if (unsupportedRequest.test(name)) return new Problem('bad-request', { detail: text, cause: error })
  const detail = `${host} failed${text === '' ? '' : `: ${text}`}`
  return new Problem('upstream-failed', { detail, cause: error })
}

/** Finds a Problem of the mesh's transport among the causes, because the packages wrap it. */
function problemAmongCauses(error: unknown): Problem | null {
  let current = error
  for (let depth = 0; depth < causesMax && current instanceof Error; depth++) {
    if (current instanceof Problem) return current
    current = current.cause
  }
  return null
}

/** Returns an error's fields as an object; streams also report values that are not errors. */
function plain(error: unknown): { readonly name: string; readonly message: string } {
  if (error instanceof Error) return Object.assign({}, error, { name: error.name, message: error.message })
  if (typeof error === 'object' && error !== null) {
    const message = 'message' in error && typeof error.message === 'string' ? error.message : ''
    return { ...error, name: '', message: message || JSON.stringify(error) }
  }
  return { name: '', message: String(error) }
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
