import type { ProviderReply } from '../providers/llm-provider.ts'

/** Longest wait that a provider's own word is read as, milliseconds: what is longer is read as this. */
export const retryAfterMaxMs = 24 * 3_600_000

const secondMs = 1000
/** Characters of a message in which a wait is looked for. */
const wordsMaxChars = 2000

/**
 * The wait that the headers of a reply ask for: `retry-after-ms`, else `retry-after` in seconds or as a date, else the reset
 * of a limit of which nothing remains. A date counts from the reply's own `date`, so that no two clocks are compared. Null
 * where none is named or it cannot be read. Pure.
 */
export function retryAfterIn(header: (name: string) => string | undefined): number | null {
  const exact = numberIn(header('retry-after-ms'))
  if (exact !== null) return bounded(exact)
  const said = header('retry-after')
  const seconds = numberIn(said)
  if (seconds !== null) return bounded(seconds * secondMs)
  if (said !== undefined) return untilDate(dateIn(said), header)
  const waits = limits.flatMap(({ remaining, reset }) =>
    numberIn(header(remaining)) === 0 ? (resetIn(header(reset), header) ?? []) : [],
  )
  return waits.length === 0 ? null : Math.max(...waits)
}

/** OpenAI's and Groq's, OpenRouter's, and Anthropic's. */
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

/** Epoch seconds and milliseconds are larger than any wait in these units. */
const epochMinSeconds = 1_000_000_000
const epochMinMs = 1_000_000_000_000

/** `6m0s`, seconds, a time since 1970 in seconds or milliseconds, or a date. */
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

/** What the head of a reply says of asking again. Pure. */
export function retryWordsIn(
  header: (name: string) => string | undefined,
): Pick<ProviderReply, 'retryAfterSeconds' | 'shouldRetry' | 'errorType'> {
  const ms = retryAfterIn(header)
  const should = header('x-should-retry')
  const errorType = header('x-amzn-errortype')
  return {
    retryAfterSeconds: ms === null ? null : ms / 1000,
    ...(should === 'true' || should === 'false' ? { shouldRetry: should === 'true' } : {}),
    ...(errorType === undefined ? {} : { errorType }),
  }
}

/** `try again in 4.77s`, `Please retry in 1m3.2s`, `try again in 120ms`, `after 1 seconds`. Null for none. Pure. */
export function retryAfterInWords(words: string): number | null {
  const found =
    /(?:try again|retry|retrying) (?:in|after) ((?:\d{1,9}(?:\.\d{1,9})?\s?(?:milliseconds?|ms|hours?|h|minutes?|min|m|seconds?|sec|s)\s?){1,4})/i.exec(
      words.slice(0, wordsMaxChars),
    )?.[1]
  return found === undefined ? null : spanIn(found)
}

/** `1m3.2s`, `120ms`; null for anything else. */
function spanIn(found: string): number | null {
  if (!/^\s*(?:\d{1,9}(?:\.\d{1,9})?\s?[a-z]{1,12}\s?){1,4}$/i.test(found)) return null
  let ms = 0
  for (const [, amount, unit] of found.matchAll(/(\d+(?:\.\d+)?)\s?(ms|milli|h|m|s)/gi)) {
    ms += Number(amount) * (unitsMs[(unit ?? 's').toLowerCase()] ?? secondMs)
  }
  return bounded(ms)
}

/** `36s` or `0.5s`, as Google writes a duration. Null for anything else. Pure. */
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

function dateIn(text: string | undefined): number | null {
  if (text === undefined || !/[a-z]{3}/i.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(ms, 0), retryAfterMaxMs))
}
