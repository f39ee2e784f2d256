import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { savedName, savingTool } from './turn.ts'

/** Maximum number of runs whose artifacts one turn shows; the page of the run shows all its work. */
const runsMax = 5

/** Returns the runs below `runId` in which other agents saved artifacts. Pure. */
export function savingRuns(
  spans: readonly SpanView[],
  { runId, agent }: { readonly runId: string; readonly agent: string },
): readonly { readonly runId: string; readonly agent: string }[] {
  const below = new Set([runId])
  const parents = new Map(spans.map((span) => [span.span_id, span]))
  // A trace has a span for each run; the parents of a span lead to the run that caused it.
  const isBelow = (span: SpanView, levels = spans.length): boolean => {
    if (span.run_id !== null && below.has(span.run_id)) return true
    const parent = span.parent_id === null ? undefined : parents.get(span.parent_id)
    return parent !== undefined && levels > 0 && isBelow(parent, levels - 1)
  }
  const found = new Map<string, string>()
  for (const span of spans) {
    const isSave = span.attributes['gen_ai.tool.name'] === savingTool
    if (isSave && span.run_id !== null && span.agent_id !== null && span.agent_id !== agent && isBelow(span))
      found.set(span.run_id, span.agent_id)
  }
  return [...found].slice(0, runsMax).map(([id, by]) => ({ runId: id, agent: by }))
}

/** Returns the names of the artifacts that the calls of a run saved, each once. Pure. */
export function savedBy(events: readonly FleetEvent[]): readonly string[] {
  const saved = events.flatMap(({ seq, body }) => {
    if (body.type !== 'tool.started') return []
    const name = savedName(body)
    const end = events.find(
      (event) => event.seq > seq && event.body.type === 'tool.ended' && event.body.step === body.step,
    )?.body
    return name !== null && end?.type === 'tool.ended' && end.ok ? [name] : []
  })
  return [...new Set(saved)]
}
