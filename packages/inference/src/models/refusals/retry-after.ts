import type { ProviderReply } from '../llm-provider.ts'

/** The longest wait that is read from a provider, milliseconds; a longer one counts as this. */
export const retryAfterMaxMs = 24 * 3_600_000

const secondMs = 1000
/** The characters of a message that are searched for a wait. */
const wordsMaxChars = 2000

/**
 * Returns the wait that reply headers ask for: `retry-after-ms`, else `retry-after` in seconds, as a span or as a date,
 * else the reset time of an exhausted limit. A date counts from the reply's own `date`, so that two clocks are never compared.
 * Null if none is given or readable. Pure.
 */
export function retryAfterIn(header: (name: string) => string | undefined): number | null {
  const exact = numberIn(header('retry-after-ms'))
  if (exact !== null) return bounded(exact)
  const stated = header('retry-after')
  const seconds = numberIn(stated)
  if (seconds !== null) return bounded(seconds * secondMs)
  const written = stated === undefined ? null : (spanIn(stated) ?? untilDate(dateIn(stated), header))
  if (written !== null) return written
  const waits = limits.flatMap(({ remaining, reset }) =>
    numberIn(header(remaining)) === 0 ? (resetIn(header(reset), header) ?? []) : [],
  )
  return waits.length === 0 ? null : Math.max(...waits)
}

/** Rate limit headers of OpenAI and Groq, of OpenRouter, and of Anthropic. */
const limits = [
  ...['-requests', '-tokens', ''].map((kind) => ({
    remaining: `x-ratelimit-remaining${kind}`,
    reset: `x-ratelimit-reset${kind}`,
  })),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((kind) => ({
    remaining: `anthropic-ratelimit-${kind}-remaining`,
    reset: `anthropic-ratelimit-${kind}-reset`,
  })),
]

/** From these values on, a number is a time since 1970 and not a wait. */
const epochMinSeconds = 1_000_000_000
const epochMinMs = 1_000_000_000_000

/** Reads a reset value: `6m0s`, seconds, a time since 1970 in seconds or milliseconds, or a date. */
function resetIn(text: string | undefined, header: (name: string) => string | undefined): number | null {
  const number = numberIn(text)
  if (number === null) return spanIn(text ?? '') ?? untilDate(Date.parse(text ?? ''), header)
  if (number >= epochMinMs) return untilDate(number, header)
  return number >= epochMinSeconds ? untilDate(number * secondMs, header) : bounded(number * secondMs)
}

function untilDate(until: number | null, header: (name: string) => string | undefined): number | null {
  const from = dateIn(header('date'))
  return until === null || Number.isNaN(until) || from === null ? null : bounded(until - from)
}

/** Returns the members of a provider's reply that tell whether and when to retry, from its headers. Pure. */
export function retryWordsIn(
  header: (name: string) => string | undefined,
): Pick<ProviderReply, 'retryAfterSeconds' | 'shouldRetry' | 'errorType' | 'repliedAt'> {
  const ms = retryAfterIn(header)
  const should = header('x-should-retry')
  const errorType = header('x-amzn-errortype')
  const repliedAt = dateIn(header('date'))
  return {
    retryAfterSeconds: ms === null ? null : ms / 1000,
    ...(should === 'true' || should === 'false' ? { shouldRetry: should === 'true' } : {}),
    ...(errorType === undefined ? {} : { errorType }),
    ...(repliedAt === null ? {} : { repliedAt }),
  }
}

/**
 * Finds a wait in a message: `try again in 4.77s`, `Please retry in 1m3.2s`, `in 2m30s`, and `try again at 15:00Z`,
 * which counts from the date of the reply. Null without a wait. Pure.
 */
export function retryAfterInWords(text: string, repliedAt: number | null = null): number | null {
  return spanInWords(text) ?? timeInWords(text, repliedAt)
}

function spanInWords(text: string): number | null {
  const found =
    /(?:(?:try(?: it)? again|retry|retrying|available(?: again)?|wait(?:ing)?|resets?|renewed|come back)(?: after waiting)?(?: for| at least)?(?: in| after)?) (?:about |approximately )?((?:\d{1,9}(?:\.\d{1,9})?\s?(?:milliseconds?|ms|hours?|h|minutes?|min|m|seconds?|sec|s)\s?){1,4})/i.exec(
      text.slice(0, wordsMaxChars),
    )?.[1]
  return found === undefined ? null : spanIn(found)
}

const dayMs = 24 * 3600 * secondMs

/** Finds a full date, or a time on the day of the reply or the next; without a zone it is UTC. */
function timeInWords(text: string, repliedAt: number | null): number | null {
  if (repliedAt === null) return null
  const found = text
    .slice(0, wordsMaxChars)
    .match(
      /(?:try(?: it)? again|retry|available(?: again)?|resets?|renewed|come back|access) (?:\w+ )?(?:at|on|after|until) (?:(\d{4}-\d{2}-\d{2})(?:[T ]| at ))?(\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})? ?(Z\b|UTC\b|GMT\b|[+-]\d{2}:\d{2})?/i,
    )
  if (!found) return null
  const [, day, time = '', zone = 'Z'] = found
  const offset = /^[+-]/.test(zone) ? zone : 'Z'
  const on = day ?? new Date(repliedAt).toISOString().slice(0, 10)
  const at = Date.parse(`${on}T${/^\d:/.test(time) ? '0' : ''}${time}${offset}`)
  if (Number.isNaN(at)) return null
  return bounded(day === undefined && at < repliedAt ? at + dayMs - repliedAt : at - repliedAt)
}

/** Returns milliseconds of a span such as `1m3.2s` or `120ms`; null for anything else. */
function spanIn(found: string): number | null {
  if (!/^\s*(?:\d{1,9}(?:\.\d{1,9})?\s?[a-z]{1,12}\s?){1,4}$/i.test(found)) return null
  let ms = 0
  for (const [, amount, unit] of found.matchAll(/(\d+(?:\.\d+)?)\s?(ms|milli|h|m|s)/gi)) {
    ms += Number(amount) * (unitsMs[(unit ?? 's').toLowerCase()] ?? secondMs)
  }
  return bounded(ms)
}

/** Names under which providers write a wait into the body of an error, with the milliseconds of one unit. */
const waitNames = [
  ['retry_after_ms', 1],
  ['retry_after_seconds', secondMs],
  ['retry_after', secondMs],
  ['retryAfter', secondMs],
] as const

/** Returns the wait that a member of an error, or the headers that a router quotes in it, name. Pure. */
export function retryAfterInFields(
  fields: Readonly<Record<string, unknown>>,
  repliedAt: number | null = null,
): number | null {
  for (const [name, unitMs] of waitNames) {
    const value = fields[name]
    const wait = typeof value === 'number' || typeof value === 'string' ? numberIn(String(value)) : null
    if (wait !== null) return bounded(wait * unitMs)
  }
  const { headers } = fields
  if (typeof headers !== 'object' || headers === null) return null
  const quoted = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
  if (repliedAt !== null) quoted.set('date', new Date(repliedAt).toUTCString())
  return retryAfterIn((name) => quoted.get(name))
}

/** Returns milliseconds of a Google duration such as `36s` or `0.5s`; null for anything else. Pure. */
export function durationMs(text: unknown): number | null {
  if (typeof text !== 'string') return null
  const seconds = /^(\d{1,12}(?:\.\d{1,9})?)s$/.exec(text)?.[1]
  return seconds === undefined ? null : bounded(Number(seconds) * secondMs)
}

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  milli: 1,
  s: secondMs,
  m: 60 * secondMs,
  h: 3600 * secondMs,
}

function numberIn(text: string | undefined): number | null {
  if (text === undefined || !/^\s*\d{1,15}(?:\.\d{1,9})?\s*$/.test(text)) return null
  return Number(text)
}

export function dateIn(text: string | undefined): number | null {
  if (text === undefined || !/[a-z]{3}/i.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(ms, 0), retryAfterMaxMs))
}
