import { noSuchRun } from '@flotilla/protocol/not-found'
import { isTerminal } from '@flotilla/protocol/run'
import type { SpanView, TraceView } from '@flotilla/protocol/trace-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { RunRecord } from '@flotilla/work/runs'
import { runSpan } from './follow-events.ts'
import type { FollowEvents } from './follow-events.ts'
import { traceIdOf } from './span.ts'
import type { Span } from './span.ts'
import type { SpanTable } from './span-table.ts'

/** The maximum number of spans shown of one trace; the earliest ones are shown. */
const spansMax = 5000

/** Returns the whole trace that contains the run, for callers that may view the fleet. Problem `not-found`. */
export type ReadTrace = (caller: Caller, runId: string) => TraceView

/** How many runs of one trace are read. */
const runsMax = 500

/**
 * Combines stored spans with the rows of the runs. Runs stay in the ledger for longer, so a run that continues, or
 * whose spans were deleted, is still shown.
 */
export function createReadTrace(deps: {
  readonly guard: Guard
  readonly runs: {
    find(runId: string): RunRecord | null
    chainOf(runId: string): readonly RunRecord[]
    treeOf(runId: string): readonly string[]
  }
  readonly table: Pick<SpanTable, 'ofTrace'>
  readonly follow: Pick<FollowEvents, 'open'>
  /** Writes pending spans. */
  readonly flush: () => void
  readonly keptDays: () => number
  readonly clock: Clock
}): ReadTrace {
  const { guard, runs, table, follow, clock } = deps
  return (caller, runId) => {
    guard(caller, { do: 'view-fleet' })
    const run = runs.find(runId)
    if (!run) throw noSuchRun(runId)
    deps.flush()
    const now = clock.now()
    const root = runs.chainOf(runId).at(-1) ?? run

    const kept = table.ofTrace(traceIdOf(run.traceId), spansMax + 1)
    const known = new Set(kept.map(({ spanId }) => spanId))
    const ids = runs.treeOf(root.id)
    const records = ids.slice(0, runsMax).flatMap((id) => runs.find(id) ?? [])
    const runSpans = records.map((record) => ({ record, span: runSpan(record, now) }))
    const ofLedger = runSpans.filter(({ span }) => !known.has(span.spanId))
    // The last calls of a run are settled after it has ended, so the current cost comes from its row.
    const attributesOf = new Map(runSpans.map(({ span }) => [span.spanId, span.attributes]))
    const open = records.flatMap((record) => (isTerminal(record.state) ? [] : follow.open(record.id, now)))
    const spans = [
      ...kept.map((span) =>
        spanView({ ...span, attributes: attributesOf.get(span.spanId) ?? span.attributes }, false),
      ),
      ...ofLedger.map(({ record, span }) => spanView(span, !isTerminal(record.state))),
      ...open.map((span) => spanView(span, true)),
    ].toSorted((one, other) => one.started_at - other.started_at)
    return {
      trace_id: traceIdOf(run.traceId),
      run_id: run.id,
      spans: spans.slice(0, spansMax),
      truncated: spans.length > spansMax || ids.length > runsMax,
      kept_days: deps.keptDays(),
    }
  }
}

function spanView(span: Span, isRunning: boolean): SpanView {
  return {
    span_id: span.spanId,
    parent_id: span.parentId,
    run_id: span.runId,
    agent_id: span.agentId,
    name: span.name,
    kind: span.kind,
    status: span.status,
    started_at: span.startedAt,
    ended_at: isRunning ? null : span.endedAt,
    attributes: span.attributes,
  }
}
