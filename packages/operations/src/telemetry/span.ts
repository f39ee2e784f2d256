import { createHash } from 'node:crypto'

/** A finished part of a trace: what was done and when. It contains no text that an agent or a person wrote. */
export interface Span {
  /** 32 hex digits; the same for a run and all runs below it. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  /** Id of the parent span; null for the run at the root of the trace. */
  readonly parentId: string | null
  readonly runId: string
  readonly agentId: string
  readonly name: string
  /** `client` if the mesh calls an external server. */
  readonly kind: 'internal' | 'client'
  readonly status: 'unset' | 'ok' | 'error'
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: SpanAttributes
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** Returns the trace's id, derived from the trace's name, so that each mesh process computes the same id. Pure. */
export function traceIdOf(trace: string): string {
  return digest(`trace:${trace}`).slice(0, 32)
}

export function runSpanId(runId: string): string {
  return digest(`run:${runId}`).slice(0, 16)
}

/** Returns the id of a span within a run, derived from the event that ended the span; an event can end several. */
export function partSpanId(runId: string, part: string): string {
  return digest(`part:${runId}:${part}`).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
