import type { SpanView } from '@flotilla/protocol/trace-api'
import type { TraceRow } from '@flotilla/client/trace-tree'

export interface TraceScale {
  readonly from: number
  readonly until: number
}

/** Returns the scale from the first start to the last end; open spans end now. Pure. */
export function scaleOf(spans: readonly SpanView[], now: number): TraceScale {
  let [from, until] = [Infinity, -Infinity]
  for (const span of spans) {
    from = Math.min(from, span.started_at)
    until = Math.max(until, span.ended_at ?? now)
  }
  return Number.isFinite(from) ? { from, until: Math.max(until, from + 1) } : { from: now, until: now + 1 }
}

/** Returns the position of a span on the scale, in percent. Pure. */
export function barOf(
  span: SpanView,
  { from, until }: TraceScale,
  now: number,
): { readonly left: number; readonly width: number } {
  const whole = until - from
  const left = Math.min(100, Math.max(0, ((span.started_at - from) / whole) * 100))
  const width = (Math.max(0, (span.ended_at ?? now) - span.started_at) / whole) * 100
  return { left, width: Math.min(width, 100 - left) }
}

/** Returns the rows without those below a folded row. Pure. */
export function unfolded(rows: readonly TraceRow[], folded: ReadonlySet<string>): readonly TraceRow[] {
  const shown: TraceRow[] = []
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index]
    if (!row) break
    shown.push(row)
    if (folded.has(row.span.span_id)) index += row.below
  }
  return shown
}

/** The index of a row's parent; -1 for a row at the top level. Pure. */
export function rowAbove(rows: readonly TraceRow[], index: number): number {
  const depth = rows[index]?.depth ?? 0
  return rows.findLastIndex((row, at) => at < index && row.depth < depth)
}

const steps = [1, 2, 5] as const
/** Maximum number of lines of the scale. */
const linesMax = 6

/** Returns round times along the scale, in milliseconds from its start. Pure. */
export function scaleLines({ from, until }: TraceScale): readonly number[] {
  const whole = until - from
  let unit = 1
  for (;;) {
    for (const step of steps) {
      const every = unit * step
      if (whole / every <= linesMax) {
        return Array.from({ length: Math.floor(whole / every) + 1 }, (_, index) => index * every)
      }
    }
    unit *= 10
  }
}
