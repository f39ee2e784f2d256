import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { laterUsage, usageFrom } from './usage.ts'
import type { TokenUsage } from './usage.ts'
import { createWholeEvents, eventEnd, lastEnd } from './whole-events.ts'

/** The state of a stream so far. */
interface StreamProgress {
  /** The last reported usage; some providers report one with every chunk. */
  usage: TokenUsage | null
  /** True if the model has stopped generating, so that the usage is complete. */
  isOver: boolean
  /** The bytes of all complete events. */
  bytes: number
}

/** The size of the smallest event that carries one token, bytes. */
const eventMinBytes = 48
/** The bytes of a stream besides its words: first event, finish reason, usage and end mark. */
const framingMaxBytes = 2048

/**
 * Returns the usage of the whole stream; null while it may be incomplete. If a provider reports zero output tokens
 * beside words, they are estimated from the bytes of the events. Pure.
 */
export function wholeUsage({ usage, isOver, bytes }: StreamProgress): TokenUsage | null {
  if (!isOver || usage === null || usage.completionTokens > 0) return isOver ? usage : null
  const contentBytes = Math.max(0, bytes - framingMaxBytes)
  return { ...usage, completionTokens: Math.max(1, Math.ceil(contentBytes / eventMinBytes)) }
}

interface StreamRules {
  /** True if the client wants the usage and gets it with the cost; otherwise an event with only usage is dropped. */
  readonly wantsUsage: boolean
  readonly costUsdOf: (usage: TokenUsage) => number
  /** Further members beside the cost, for a client that receives the cost. */
  readonly more?: () => object
  /** Called before the last bytes of the stream are forwarded. */
  readonly onDone: () => void
}

/** Where a stream format carries its end and its usage. */
export interface StreamForm {
  /** A text that the last event contains; other events may contain it too. */
  readonly endMark: Buffer
  /** The name of the member that has the usage, in quotes; `usage` if omitted. */
  readonly usageName?: Buffer
  /** The event that keeps a silent stream open, for clients that do not skip comments; a comment if omitted. */
  readonly keepAlive?: Uint8Array
  /** Whether this is the last event of the stream. */
  isEnd(data: Buffer, from: number, end: number): boolean
  /** Reads the usage from an event. Returns the event to forward, or null to drop it. */
  tell(event: Buffer, progress: StreamProgress, rules: StreamRules): Buffer | null
}

/** The stream of a chat completion. */
export const chatStream: StreamForm = {
  endMark: Buffer.from('[DONE]'),
  isEnd: (data, from, end) => end - from < doneMaxBytes && data.subarray(from, end).includes('[DONE]'),
  tell: withUsage,
}

export function freshProgress(): StreamProgress {
  return { usage: null, isOver: false, bytes: 0 }
}

const usageName = Buffer.from('"usage"')
/** The first quote is left out: the search would stop at each quote, of which a stream has many. */
const usageMark = Buffer.from('usage"')
/** The most bytes of an end event: `data: [DONE]` with line ends and some spaces is shorter. */
const doneMaxBytes = 24

/** Reads a stream of server-sent events piece by piece. */
interface SseParser {
  /** Returns the bytes to forward so far; null while no event is complete. */
  take(bytes: Uint8Array): Uint8Array | null
  /** Returns the remaining bytes at the end of the stream. */
  rest(): Uint8Array | null
}

/**
 * Passes whole events on, unchanged except for the usage, and in one piece if nothing changes. Only events that
 * contain a mark are checked, and only those that name a usage are parsed. `take` throws the Problem
 * `upstream-failed` for an event that is too large.
 */
export function createSseParser(
  progress: StreamProgress,
  rules: StreamRules,
  form: StreamForm = chatStream,
): SseParser {
  const events = createWholeEvents()
  return {
    take(bytes) {
      const data = events.take(bytes)
      progress.bytes += data?.length ?? 0
      return data === null ? null : withoutUsage(data, { progress, rules, form })
    },
    rest: () => events.rest(),
  }
}

interface Reading {
  readonly progress: StreamProgress
  readonly rules: StreamRules
  readonly form: StreamForm
}

/** Returns the complete events to forward; null if all are dropped. */
function withoutUsage(data: Buffer, { progress, rules, form }: Reading): Buffer | null {
  const marks = createMarks(data, [usageMark, form.endMark])
  const passed: Buffer[] = []
  let behind = 0
  let unchangedFrom = 0
  for (let at = marks.next(0); at !== -1; at = marks.next(behind)) {
    const from = lastEnd(data.subarray(behind, at)) + behind
    const end = eventEnd(data, at)
    const event = data.subarray(from, end)
    const isEnd = form.isEnd(data, from, end)
    if (isEnd) progress.isOver = true
    const forwarded = tellsUsage(event, form.usageName ?? usageName)
      ? form.tell(event, progress, rules)
      : event
    if (isEnd) rules.onDone()
    behind = end
    if (forwarded === event) continue
    if (from > unchangedFrom) passed.push(data.subarray(unchangedFrom, from))
    if (forwarded !== null) passed.push(forwarded)
    unchangedFrom = end
  }
  if (data.length > unchangedFrom) passed.push(data.subarray(unchangedFrom))
  return joined(passed)
}

/** Finds the next position of any of these marks; searches the bytes once per mark. */
function createMarks(data: Buffer, marks: readonly Buffer[]) {
  const found = marks.map((mark) => data.indexOf(mark))
  return {
    next(from: number): number {
      let first = -1
      for (const [index, mark] of marks.entries()) {
        let at = found[index] ?? -1
        if (at !== -1 && at < from) at = found[index] = data.indexOf(mark, from)
        if (at !== -1 && (first === -1 || at < first)) first = at
      }
      return first
    },
  }
}

/** Whether an event has a usage. Most events say `"usage":null` and need not be parsed. */
function tellsUsage(event: Buffer, name: Buffer): boolean {
  for (let at = event.indexOf(name); at !== -1; at = event.indexOf(name, at + 1)) {
    const after = event.toString('latin1', at + name.length, at + name.length + 12)
    if (!/^\s*:\s*null/.test(after)) return true
  }
  return false
}

function withUsage(event: Buffer, progress: StreamProgress, rules: StreamRules): Buffer | null {
  const data = parsedData(event)
  const usage = usageFrom(data?.['usage'])
  if (data === null || usage === null) return event
  progress.usage = laterUsage(progress.usage, usage)
  // An event without choices is the last one before the end mark.
  const isAlone = Array.isArray(data['choices']) && data['choices'].length === 0
  if (isAlone) progress.isOver = true
  if (!rules.wantsUsage) return isAlone ? null : event
  const payload = {
    ...data,
    usage: { ...asObject(data['usage']), cost_usd: rules.costUsdOf(usage), ...rules.more?.() },
  }
  return Buffer.from(`data: ${JSON.stringify(payload)}\n\n`)
}

/** Returns the JSON object in the data of an event; null without one. */
export function parsedData(event: Buffer): Record<string, unknown> | null {
  // Data that are not JSON are forwarded unchanged.
  return asObject(readJsonQuietly(dataOf(event), jsonLimits.modelAnswer))
}

/** Returns the data lines of an event, joined. Pure. */
export function dataOf(event: Buffer): string {
  const text = event.toString('utf8').replace(/^\uFEFF/, '')
  const [first = '', ...more] = text.split(/\r?\n/)
  if (first.startsWith('data:') && more.every((line) => line === '')) return first.slice('data:'.length)
  return [first, ...more]
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length))
    .join('\n')
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function joined(parts: readonly Buffer[]): Buffer | null {
  const [only] = parts
  if (only === undefined) return null
  return parts.length === 1 ? only : Buffer.concat(parts)
}
