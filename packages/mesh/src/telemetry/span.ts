import { createHash } from 'node:crypto'

/** Part of a trace that is over: what was done, when, and for what. It holds nothing that anybody wrote or said. */
export interface Span {
  /** 32 hex digits; the same for a run and for all that works for it. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  /** Null for the run that somebody outside asked for. */
  readonly parentId: string | null
  readonly runId: string
  readonly agentId: string
  readonly name: string
  /** `client` where the mesh asks somebody outside. */
  readonly kind: 'internal' | 'client'
  readonly status: 'unset' | 'ok' | 'error'
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: SpanAttributes
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** Ids are made of what they stand for, so that every life of the mesh gives a run the same one. Pure. */
export function traceIdOf(trace: string): string {
  return digest(`trace:${trace}`).slice(0, 32)
}

export function runSpanId(runId: string): string {
  return digest(`run:${runId}`).slice(0, 16)
}

/** Of a span within a run, by the event that ended it; one event may end several. */
export function partSpanId(runId: string, part: string): string {
  return digest(`part:${runId}:${part}`).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
