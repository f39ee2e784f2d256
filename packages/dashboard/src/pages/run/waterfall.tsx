import { upTo } from '@flotilla/protocol/up-to'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { tellingArgument } from '@flotilla/client/telling-argument'
import { isWaitSpan, spanWords } from '@flotilla/client/trace-tree'
import type { TraceRow } from '@flotilla/client/trace-tree'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { formatDuration, formatTokens, formatUsd } from '../../data/format.ts'
import { useNow } from '../../data/use-now.ts'
import type { SpanCall } from './span-calls.ts'
import { barOf, rowAbove, scaleLines, scaleOf, unfolded } from './trace-scale.ts'
import type { TraceScale } from './trace-scale.ts'

const rowHeightPx = 30
/** The part of the scale in which a bar still has room for its label on the right. */
const labelledPart = 0.88
const goesOnEveryMs = 1000

/** Shows each span on a line, with a bar for its time. Arrow keys move, fold and unfold. */
export function Waterfall({
  rows,
  calls,
  active,
  onActive,
}: {
  readonly rows: readonly TraceRow[]
  /** The tool calls by the ids of their spans, as far as they are known. */
  readonly calls: ReadonlyMap<string, SpanCall>
  readonly active: string | null
  readonly onActive: (spanId: string) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const now = useNow(goesOnEveryMs)
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const shown = unfolded(rows, folded)
  const scale = scaleOf(
    rows.map(({ span }) => span),
    now,
  )
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeightPx,
    overscan: 16,
  })
  const at = shown.findIndex(({ span }) => span.span_id === active)

  function go(index: number): void {
    const row = shown[Math.max(0, Math.min(shown.length - 1, index))]
    if (!row) return
    virtual.scrollToIndex(shown.indexOf(row))
    onActive(row.span.span_id)
  }

  function fold(spanId: string, isFolded: boolean): void {
    setFolded((before) => {
      const next = new Set(before)
      if (isFolded) next.add(spanId)
      else next.delete(spanId)
      return next
    })
  }

  function onKey(event: KeyboardEvent): void {
    const row = shown[at]
    const isFolded = row !== undefined && folded.has(row.span.span_id)
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      ArrowRight: () => (isFolded ? fold(row.span.span_id, false) : go(at + 1)),
      ArrowLeft: () => {
        if (row && row.below > 0 && !isFolded) fold(row.span.span_id, true)
        else if (rowAbove(shown, at) >= 0) go(rowAbove(shown, at))
      },
    }
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    move()
  }

  return (
    <>
      <Scale scale={scale} />
      <div
        ref={box}
        className="trace"
        role="tree"
        tabIndex={0}
        aria-label="Spans of the trace"
        aria-activedescendant={at < 0 ? undefined : idOf(active)}
        onKeyDown={onKey}
        onFocus={() => {
          if (at < 0) go(0)
        }}
      >
        <div className="list-rows" role="none" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = shown[index]
            if (!row) return null
            const id = row.span.span_id
            return (
              <Row
                key={id}
                row={row}
                call={calls.get(id)}
                start={start}
                scale={scale}
                now={now}
                isActive={id === active}
                isFolded={folded.has(id)}
                onChoose={() => onActive(id)}
                onFold={() => fold(id, !folded.has(id))}
              />
            )
          })}
        </div>
      </div>
    </>
  )
}

function Scale({ scale }: { readonly scale: TraceScale }) {
  const whole = scale.until - scale.from
  const lines = scaleLines(scale).filter((ms) => ms / whole < labelledPart)
  return (
    <div className="trace-row trace-scale small muted number" aria-hidden="true">
      <span>Span</span>
      <span className="trace-lane">
        {lines.map((ms, index) => (
          // Beside the details only two labels have room, so the others have the class `minor`.
          <span
            key={ms}
            className={index % Math.ceil(lines.length / 2) === 0 ? '' : 'minor'}
            style={{ left: `${(ms / whole) * 100}%` }}
          >
            {formatDuration(ms)}
          </span>
        ))}
      </span>
      <span className="right">Took</span>
      <span className="right only-wide">Tokens</span>
      <span className="right only-wide">Cost</span>
    </div>
  )
}

function Row({
  row: { span, depth, below },
  call,
  start,
  scale,
  now,
  isActive,
  isFolded,
  onChoose,
  onFold,
}: {
  readonly row: TraceRow
  readonly call: SpanCall | undefined
  readonly start: number
  readonly scale: TraceScale
  readonly now: number
  readonly isActive: boolean
  readonly isFolded: boolean
  readonly onChoose: () => void
  readonly onFold: () => void
}) {
  const { left, width } = barOf(span, scale, now)
  const { tokens, usd, unconfirmed } = figuresOf(span)
  const told = call === undefined ? '' : tellingArgument(call.input)
  return (
    <div
      id={idOf(span.span_id)}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isActive}
      aria-expanded={below === 0 ? undefined : !isFolded}
      className="list-row trace-row"
      style={{ transform: `translateY(${start}px)` }}
      onClick={onChoose}
    >
      <span className="row trace-name" style={{ paddingLeft: depth * 14 }}>
        <span
          className="fold"
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation()
            if (below > 0) onFold()
          }}
        >
          {below === 0 ? '' : isFolded ? '▸' : '▾'}
        </span>
        <span className="clip" title={told === '' ? undefined : told}>
          {call === undefined ? (
            spanTitle(span)
          ) : (
            <>
              <span className="hidden-words">uses </span>
              {call.name} <span className="mono muted">{told}</span>
            </>
          )}
        </span>
      </span>
      <span className="trace-lane">
        <span className={`trace-bar ${barKind(span)}`} style={{ left: `${left}%`, width: `${width}%` }} />
      </span>
      <span className="right number">{formatDuration((span.ended_at ?? now) - span.started_at)}</span>
      <span className="right number muted only-wide">
        {tokens === 0 ? '' : upTo(formatTokens(tokens), unconfirmed)}
      </span>
      <span className="right number muted only-wide">
        {usd === null ? '' : upTo(formatUsd(usd), unconfirmed)}
      </span>
    </div>
  )
}

function idOf(spanId: string | null): string {
  return `span-${spanId ?? ''}`
}

/** Describes a span in a few words. Pure. */
export function spanTitle(span: SpanView): string {
  const tool = span.attributes['gen_ai.tool.name']
  if (tool !== undefined) return `uses ${tool === 'other' ? 'a tool of its own' : tool}`
  const model = span.attributes['gen_ai.request.model']
  if (model !== undefined) return `asks ${model}`
  if (!isRunSpan(span)) return spanWords(span)
  const state = span.attributes['flotilla.run.state']
  return `${span.agent_id}, run ${state === undefined ? '' : String(state)}`
}

export function isRunSpan({ name }: SpanView): boolean {
  return name.startsWith('invoke_agent ')
}

function barKind(span: SpanView): string {
  if (span.status === 'error') return 'bad'
  if (span.ended_at === null) return 'busy'
  if (isWaitSpan(span)) return 'wait'
  return span.kind === 'client' ? 'model' : isRunSpan(span) ? 'run' : 'tool'
}

interface SpanFigures {
  readonly tokens: number
  readonly usd: number | null
  /** Above 0 if the figures are those of the reservation, because the call broke off. */
  readonly unconfirmed: number
}

function figuresOf({ attributes }: SpanView): SpanFigures {
  const number = (name: string): number => {
    const value = attributes[name]
    return typeof value === 'number' ? value : 0
  }
  const ofCall = number('gen_ai.usage.input_tokens') + number('gen_ai.usage.output_tokens')
  return {
    tokens: ofCall === 0 ? number('flotilla.tokens') : ofCall,
    unconfirmed: attributes['flotilla.cost_unconfirmed'] === true ? 1 : 0,
    usd: attributes['flotilla.cost_usd'] === undefined ? null : number('flotilla.cost_usd'),
  }
}
