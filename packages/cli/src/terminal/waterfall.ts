import { isWaitSpan, spanWords, traceTree } from '@flotilla/client/trace-tree'
import type { SpanView, TraceView } from '@flotilla/protocol/trace-api'
import type { Color } from './color.ts'
import { oneLine } from './color.ts'
import { columnsOf } from './columns.ts'
import { formatDuration, formatUsd } from './format.ts'

/** Maximum columns of the names; the bars get all remaining columns of the terminal. */
const nameColumnsMax = 44
const barColumnsMin = 16
const barColumnsMax = 80
const timeColumns = 10

/** Formats a trace as lines: each span below its parent, with a bar for its time. Pure. */
export function drawWaterfall(
  trace: TraceView,
  at: { readonly columns: number; readonly color: Color; readonly now: number },
): string[] {
  const from = Math.min(...trace.spans.map((span) => span.started_at))
  const until = Math.max(...trace.spans.map((span) => span.ended_at ?? at.now), from)
  const rows = traceTree(trace.spans)
  const names = rows.map(({ span, depth }) => `${'  '.repeat(depth)}${spanWords(span)}`)
  const nameColumns = Math.min(nameColumnsMax, Math.max(...names.map((name) => columnsOf(name)), 0))
  const room = at.columns - nameColumns - timeColumns - 4
  const barColumns = Math.max(barColumnsMin, Math.min(barColumnsMax, room))
  return rows.map(({ span }, index) => {
    const name = oneLineKept(names[index] ?? '', nameColumns)
    const padded = name + ' '.repeat(Math.max(0, nameColumns - columnsOf(name)))
    const bar = barOf(span, { from, until, columns: barColumns, now: at.now })
    const took = formatDuration((span.ended_at ?? at.now) - span.started_at).padStart(timeColumns)
    return `${padded}  ${colored(bar, span, at.color)}  ${took}${afterWords(span)}`
  })
}

/** The indent stays: `oneLine` trims. */
function oneLineKept(text: string, columnsMax: number): string {
  const indent = /^ */.exec(text)?.[0] ?? ''
  return indent + oneLine(text, Math.max(1, columnsMax - indent.length))
}

function barOf(
  span: SpanView,
  axis: { readonly from: number; readonly until: number; readonly columns: number; readonly now: number },
): string {
  const whole = Math.max(1, axis.until - axis.from)
  const start = Math.min(axis.columns - 1, Math.floor(((span.started_at - axis.from) / whole) * axis.columns))
  const end = Math.round((((span.ended_at ?? axis.now) - axis.from) / whole) * axis.columns)
  const length = Math.max(1, Math.min(axis.columns - start, end - start))
  return (
    ' '.repeat(start) +
    (isWaitSpan(span) ? '·' : '█').repeat(length) +
    ' '.repeat(axis.columns - start - length)
  )
}

function colored(bar: string, span: SpanView, color: Color): string {
  if (span.status === 'error') return color.bad(bar)
  if (span.ended_at === null) return color.warning(bar)
  return span.kind === 'client' ? color.name(bar) : bar
}

/** The most informative attribute. */
function afterWords(span: SpanView): string {
  const { attributes } = span
  const parts: string[] = []
  const state = attributes['flotilla.run.state']
  if (state !== undefined) parts.push(String(state))
  const [input, output] = [attributes['gen_ai.usage.input_tokens'], attributes['gen_ai.usage.output_tokens']]
  if (input !== undefined) parts.push(`${input} → ${output ?? 0} tokens`)
  // It comes early, because a long line is cut at its end.
  const lost = attributes['flotilla.cache_break']
  if (lost !== undefined) parts.push(`cache lost: ${String(lost)}`)
  const cached = attributes['gen_ai.usage.cache_read.input_tokens']
  if (typeof cached === 'number' && cached > 0) parts.push(`${cached} from the cache`)
  const cost = attributes['flotilla.cost_usd']
  if (typeof cost === 'number' && cost > 0) parts.push(formatUsd(cost))
  const error = attributes['error.type']
  if (error !== undefined) parts.push(String(error))
  if (attributes['flotilla.cut_off'] === true && span.ended_at !== null) parts.push('cut off')
  if (span.ended_at === null) parts.push('goes on')
  return parts.length === 0 ? '' : `  ${oneLine(parts.join(', '), 60)}`
}
