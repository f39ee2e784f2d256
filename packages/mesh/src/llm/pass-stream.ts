import { Problem } from '@flotilla/protocol/problem'
import { usageFrom } from './usage.ts'
import type { TokenUsage } from './usage.ts'

/** What a stream has carried so far. */
export interface StreamProgress {
  events: number
  bytes: number
  smallestEventBytes: number
  /** The last usage it told. */
  usage: TokenUsage | null
}

export interface StreamRules {
  /** The client asked for the usage: its chunk goes on, with the cost. Otherwise the chunk that has only that stays here. */
  readonly wantsUsage: boolean
  readonly costUsdOf: (usage: TokenUsage) => number
  /** Called before the bytes that end the stream are passed on. */
  readonly onDone: () => void
}

export function freshProgress(): StreamProgress {
  return { events: 0, bytes: 0, smallestEventBytes: 0, usage: null }
}

/** One event of a model is a few hundred bytes; one with a picture in it may be megabytes. */
const eventMaxBytes = 8 * 1024 * 1024

const usageMark = Buffer.from('"usage"')
const lineFeed = 10
const carriageReturn = 13

/**
 * Passes whole server-sent events on as they come, the same bytes but for the usage. Only events that name a usage
 * are parsed. Throws the Problem `upstream-failed` for an event beyond any reason.
 */
export async function* passStream(
  source: AsyncIterable<Uint8Array>,
  progress: StreamProgress,
  rules: StreamRules,
): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    const data = rest.length === 0 ? asBuffer(chunk) : Buffer.concat([rest, chunk])
    const passed: Buffer[] = []
    let from = 0
    for (let end = eventEnd(data, from); end !== -1; end = eventEnd(data, from)) {
      const event = data.subarray(from, end)
      const replaced = takeEvent(event, progress, rules)
      if (replaced !== null) passed.push(replaced)
      from = end
    }
    rest = data.subarray(from)
    if (rest.length > eventMaxBytes)
      throw new Problem('upstream-failed', { detail: 'an event of the stream is too large' })
    const out = joined(passed)
    if (out.length > 0) yield out
  }
  if (rest.length > 0) yield rest
}

/** The event to pass on, or null to keep it here. */
function takeEvent(event: Buffer, progress: StreamProgress, rules: StreamRules): Buffer | null {
  if (event.length < 24 && event.includes('[DONE]')) {
    rules.onDone()
    return event
  }
  if (event[0] !== 58) {
    progress.events++
    progress.bytes += event.length
    const smallest = progress.smallestEventBytes
    progress.smallestEventBytes = smallest === 0 ? event.length : Math.min(smallest, event.length)
  }
  return tellsUsage(event) ? withUsage(event, progress, rules) : event
}

/** Events that say `"usage":null` are most of them, and are not worth parsing. */
function tellsUsage(event: Buffer): boolean {
  for (let at = event.indexOf(usageMark); at !== -1; at = event.indexOf(usageMark, at + 1)) {
    const after = event.toString('latin1', at + usageMark.length, at + usageMark.length + 12)
    if (!/^\s*:\s*null/.test(after)) return true
  }
  return false
}

function withUsage(event: Buffer, progress: StreamProgress, rules: StreamRules): Buffer | null {
  const data = parsedData(event)
  const usage = usageFrom(data?.['usage'])
  if (data === null || usage === null) return event
  progress.usage = usage
  if (!rules.wantsUsage) return Array.isArray(data['choices']) && data['choices'].length === 0 ? null : event
  const told = { ...data, usage: { ...asObject(data['usage']), cost_usd: rules.costUsdOf(usage) } }
  return Buffer.from(`data: ${JSON.stringify(told)}\n\n`)
}

function parsedData(event: Buffer): Record<string, unknown> | null {
  const lines = event.toString('utf8').split(/\r?\n/)
  const text = lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length))
    .join('\n')
  try {
    return asObject(JSON.parse(text))
  } catch {
    // Not ours to judge: what is no JSON goes on as it came.
    return null
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

/** Where the event that starts at `from` ends, behind its empty line; -1 while it is not whole. */
function eventEnd(data: Buffer, from: number): number {
  for (let at = data.indexOf(lineFeed, from); at !== -1; at = data.indexOf(lineFeed, at + 1)) {
    if (data[at + 1] === lineFeed) return at + 2
    if (data[at + 1] === carriageReturn && data[at + 2] === lineFeed) return at + 3
  }
  return -1
}

function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts
  return parts.length === 1 && only ? only : Buffer.concat(parts)
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
