import type { SpanView } from '@flotilla/protocol/trace-api'

/** The maximum indentation of spans. Hand-offs are bounded; spans that claim to be deeper are drawn at this depth. */
const depthMax = 16

export interface TraceRow {
  readonly span: SpanView
  readonly depth: number
  /** Number of following rows that are descendants of this row. */
  readonly below: number
}

/** Orders spans after their parents by start time; spans with a missing parent are drawn at the top level. Pure. */
export function traceTree(spans: readonly SpanView[]): readonly TraceRow[] {
  const known = new Set(spans.map((span) => span.span_id))
  const children = new Map<string | null, SpanView[]>()
  for (const span of spans) {
    const parent = span.parent_id !== null && known.has(span.parent_id) ? span.parent_id : null
    const siblings = children.get(parent)
    if (siblings) siblings.push(span)
    else children.set(parent, [span])
  }
  const rows: { span: SpanView; depth: number; below: number }[] = []
  const seen = new Set<string>()
  const walk = (parent: string | null, depth: number): void => {
    for (const span of children.get(parent) ?? []) {
      if (seen.has(span.span_id)) continue
      seen.add(span.span_id)
      const row = { span, depth: Math.min(depth, depthMax), below: 0 }
      const at = rows.push(row)
      walk(span.span_id, depth + 1)
      row.below = rows.length - at
    }
  }
  walk(null, 0)
  return rows
}

const plainNames: Readonly<Record<string, string>> = {
  'flotilla.lane_wait': 'waits for its turn',
  'flotilla.wait': 'waits for an answer',
  'flotilla.model_retry': 'waits for its model',
  'flotilla.start_agent': 'agent starts',
  'flotilla.tokens_reported': 'reported by the harness, unpriced',
}

/** The name of a span as people read it. Pure. */
export function spanWords({ name }: SpanView): string {
  return plainNames[name] ?? name
}

/** True for a span in which the run only waited. Pure. */
export function isWaitSpan({ name }: SpanView): boolean {
  return /^flotilla\.(?:lane_wait|wait|model_retry)$/.test(name)
}
