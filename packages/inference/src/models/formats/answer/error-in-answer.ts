import { saysTooLong } from '@flotilla/protocol/context-overflow'
import { Problem } from '@flotilla/protocol/problem'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { isRecord } from '../empty-answer.ts'

/** How much of an error message inside an answer of a provider is quoted, in characters. */
const messageMaxChars = 500
const messageNames = [
  'message',
  'detail',
  'msg',
  'status_msg',
  'error_msg',
  'Message',
  'error',
  'description',
  'reason',
  'errorMessage',
] as const
/** Matches the members that an object may have besides its message if the object is nothing but an error. */
const besideMessage =
  /^(?:success|status|ok|code|type|data|errorType|stackTrace|time|timestamp|path|(?:request|trace)_?id)$/i

/**
 * Returns the error that an answer with status 200, or an event of its stream, contains; null without an error.
 * Recognized are `error` as an object, a text or true; `{"type":"error"}`, `{"object":"error"}`; `base_resp` with a
 * code; and an object without choices that has a message and a code or status. Pure.
 */
export function errorInAnswer(
  value: Readonly<Record<string, unknown>>,
  { secrets, judge }: { readonly secrets: readonly Secret[]; readonly judge?: JudgeError | undefined },
): Problem | null {
  const error = errorIn(value)
  if (error === null) return null
  const judged = judge?.({ error }) ?? null
  if (judged !== null) return judged
  const message = redact(messageIn(error), secrets).slice(0, messageMaxChars)
  const detail = `the model answered with an error: ${message === '' ? 'without a message' : message}`
  return new Problem(saysTooLong(message) ? 'prompt-too-long' : 'upstream-failed', { detail })
}

/** Converts a provider's error to a Problem (temporary or not, next step); null if the error is unknown. */
export type JudgeError = (answer: { readonly error: unknown }) => Problem | null

function errorIn(value: Readonly<Record<string, unknown>>): unknown {
  const { error, choices } = value
  if (isFilled(error)) return error
  const base = value['base_resp']
  // MiniMax reports an error beside an answer; code 0 means success.
  if (isRecord(base) && isFilled(base['status_code']) && base['status_code'] !== 0) return base
  // Tencent reports an error in `Response.Error`.
  const response = value['Response']
  if (isRecord(response) && isFilled(response['Error'])) return response['Error']
  if (value['type'] === 'error' || value['object'] === 'error') return value
  const isAnswer = Array.isArray(choices) || isRecord(value['message']) || value['usage'] !== undefined
  if (isAnswer) return firstFilled(Array.isArray(choices) ? choices : [])
  // Cloudflare reports a list of errors beside an empty result.
  if (isFilled(value['errors'])) return value['errors']
  const hasWords = messageNames.some((name) => typeof value[name] === 'string' && value[name] !== '')
  const hasCode = ['code', 'status', 'status_code', 'statusCode', 'error_code', 'detail'].some((name) =>
    isFilled(value[name]),
  )
  return hasWords && (hasCode || isOnlyError(value)) ? value : null
}

/** Whether the object has a message and nothing that could be part of an answer, as timeouts of gateways have. */
function isOnlyError(value: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(value)
  return names.every((name) => besideMessage.test(name) || messageNames.some((one) => one === name))
}

/** Returns the error inside one of the choices; null without one. */
function firstFilled(choices: readonly unknown[]): unknown {
  for (const choice of choices) if (isRecord(choice) && isFilled(choice['error'])) return choice['error']
  return null
}

function isFilled(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false
  if (Array.isArray(value)) return value.length > 0
  return !isRecord(value) || Object.keys(value).length > 0
}

function messageIn(error: unknown): string {
  if (typeof error === 'string') return error
  if (Array.isArray(error)) return messageIn(error[0])
  if (!isRecord(error)) return ''
  for (const name of messageNames) {
    const value = error[name]
    if (typeof value === 'string' && value !== '') return value
    if (isRecord(value)) return messageIn(value)
  }
  const { code, type } = error
  return [type, code].filter((part) => typeof part === 'string' || typeof part === 'number').join(' ')
}
