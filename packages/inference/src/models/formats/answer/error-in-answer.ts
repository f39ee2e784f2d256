import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { saysTooLong } from '@flotilla/protocol/context-overflow'
import { Problem } from '@flotilla/protocol/problem'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { isRecord } from '../empty-answer.ts'
import type { JudgeError } from '../../llm-provider.ts'

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
  'error_message',
  'error_description',
  'description',
  'reason',
  'errorMessage',
  'errmsg',
  'faultstring',
  'title',
] as const
/** Members that hold an error, besides `error`. */
const errorNames = ['errors', 'Error', 'fault', 'err', 'exception'] as const
/** Members that hold an error only as an object. */
const errorObjectNames = ['detail', 'failure'] as const
/** The most nested errors that are searched for a message; an error of another provider may be in the message. */
const nestedMax = 4
/** Matches the members that an object may have besides its message if the object is nothing but an error. */
const besideMessage =
  /^(?:success|status|ok|code|(?:__)?type|data|errorType|stackTrace|time|timestamp|path|(?:request|trace)_?id|x-amzn-\w+)$/i

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
  const message = redact(errorWordsIn(error), secrets).slice(0, messageMaxChars)
  const detail = `the model answered with an error: ${message === '' ? 'without a message' : message}`
  return new Problem(saysTooLong(message) ? 'prompt-too-long' : 'upstream-failed', { detail })
}

function errorIn(value: Readonly<Record<string, unknown>>): unknown {
  const { error, choices } = value
  if (isFilledError(error)) return error
  const groq = value['x_groq']
  if (isRecord(groq) && isFilledError(groq['error'])) return groq['error']
  const base = value['base_resp']
  // MiniMax reports an error beside an answer; code 0 means success.
  if (isRecord(base) && isFilledError(base['status_code']) && base['status_code'] !== 0) return base
  // Tencent reports an error in `Response.Error`.
  const response = value['Response']
  if (isRecord(response) && isFilledError(response['Error'])) return response['Error']
  if (value['type'] === 'error' || value['object'] === 'error') return value
  const isAnswer = isFilledError(choices) || isRecord(value['message']) || value['usage'] !== undefined
  if (isAnswer) return firstFilled(Array.isArray(choices) ? choices : [])
  // Cloudflare reports a list of errors beside an empty result.
  const named = errorNames.find((name) => isFilledError(value[name]))
  if (named !== undefined) return value[named]
  const holder = errorObjectNames.find((name) => isRecord(value[name]) && isFilledError(value[name]))
  if (holder !== undefined) return value[holder]
  if (value['success'] === false || value['ok'] === false) return value
  const hasWords = messageIn(value) !== ''
  const hasCode = ['code', 'status', 'status_code', 'statusCode', 'error_code', 'errorCode', 'detail'].some(
    (name) => isFilledError(value[name]),
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
  for (const choice of choices) if (isRecord(choice) && isFilledError(choice['error'])) return choice['error']
  return null
}

/** What servers print for no error. */
const noError = /^(?:null|none|undefined|success|ok)?$/i
/** Codes of an error object that mean success. */
const noErrorCode = /^(?:0|200)$/

/** Whether the value of a member named `error` is an error; servers print many values for none. Pure. */
export function isFilledError(value: unknown): boolean {
  if (typeof value === 'string') return !noError.test(value)
  if (value === undefined || value === null || value === false || value === 0) return false
  if (Array.isArray(value)) return value.length > 0
  return !isRecord(value) || Object.values(value).some(isTelling)
}

/** Whether a member of an error object says that there is an error: gateways print empty objects with all members. */
function isTelling(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'number')
    return !noErrorCode.test(String(value)) && isFilledError(value)
  return isFilledError(value)
}

/** Returns the message of an error in any form; its type and code if it has no message. Pure. */
export function errorWordsIn(error: unknown): string {
  return messageIn(error) || codesIn(error)
}

function messageIn(error: unknown, depth = 1): string {
  if (depth > nestedMax) return ''
  if (typeof error === 'string') return messageInText(error, depth)
  if (Array.isArray(error)) return messageIn(error[0], depth + 1)
  if (!isRecord(error)) return ''
  for (const name of messageNames) {
    const value = error[name]
    const message =
      typeof value === 'string'
        ? messageInText(value, depth)
        : isFilledError(value)
          ? messageIn(value, depth + 1)
          : ''
    if (message !== '') return message
  }
  return ''
}

/** Returns the text, or the message of the error that it holds as JSON, as routers write the error of a provider. */
function messageInText(text: string, depth: number): string {
  const inner = /^\s*\{/.test(text) ? readJsonQuietly(text, jsonLimits.serverReply) : undefined
  return (isRecord(inner) && messageIn(inner, depth + 1)) || text
}

/** Returns the type and the code of an error without a message, or of the error in it. */
function codesIn(error: unknown, depth = 1): string {
  if (!isRecord(error) || depth > nestedMax) return ''
  const { code, type } = error
  const own = [type, code].filter((part) => typeof part === 'string' || typeof part === 'number').join(' ')
  return own === '' ? codesIn(error['error'] ?? error['detail'], depth + 1) : own
}
