import type { SpanView, TraceView } from '@flotilla/protocol/trace-api'

/** Numbers of OTLP's enumerations. */
const kinds = { internal: 1, client: 3 } as const
const statuses = { unset: 0, ok: 1, error: 2 } as const

/**
 * Returns a trace in OTLP's JSON encoding, which collectors read from a file or over HTTP. A span that is still open
 * ends now, and says so. Pure.
 */
export function otlpJson({ trace_id: traceId, spans }: Pick<TraceView, 'trace_id' | 'spans'>, now: number) {
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', 'flotilla')] },
        scopeSpans: [
          { scope: { name: 'flotilla' }, spans: spans.map((span) => otlpSpan(span, traceId, now)) },
        ],
      },
    ],
  }
}

function otlpSpan(span: SpanView, traceId: string, now: number) {
  const { ended_at: ended, attributes } = span
  const open = ended === null ? [attribute('flotilla.open', true)] : []
  return {
    traceId,
    spanId: span.span_id,
    ...(span.parent_id === null ? {} : { parentSpanId: span.parent_id }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanoseconds(span.started_at),
    endTimeUnixNano: nanoseconds(ended ?? now),
    attributes: [...Object.entries(attributes).map(([key, value]) => attribute(key, value)), ...open],
    status: { code: statuses[span.status] },
  }
}

function attribute(key: string, value: string | number | boolean) {
  if (typeof value === 'string') return { key, value: { stringValue: value } }
  if (typeof value === 'boolean') return { key, value: { boolValue: value } }
  // OTLP writes 64-bit integers as text.
  return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms)) * 1_000_000n)
}
