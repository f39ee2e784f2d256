import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { ShownPicture } from '@flotilla/protocol/shown-picture'
import type { SpanView } from '@flotilla/protocol/trace-api'

/** The input and output of a tool call, from the events of the fleet. */
export interface SpanCall {
  readonly name: string
  readonly input: unknown
  /** Null while the call runs, and if no event of its end was recorded. */
  readonly output: string | null
  readonly ok: boolean
  /** Pictures that the call showed to the agent. */
  readonly pictures: readonly ShownPicture[]
}

type Started = Extract<FleetEvent['body'], { type: 'tool.started' }>
type Ended = Extract<FleetEvent['body'], { type: 'tool.ended' }>

interface Call {
  readonly startedAt: number
  readonly started: Started
  readonly endedAt: number | null
  readonly ended: Ended | null
}

/**
 * Returns the tool calls of the spans of one run by the ids of the spans, from the events of the run. A span contains no
 * text of people or agents, so its call is found by timestamps and name; spans that are equal in these get the calls in
 * their order. Spans without events that are still stored have no call. Pure.
 */
export function callsOfSpans(
  spans: readonly SpanView[],
  events: readonly FleetEvent[],
): ReadonlyMap<string, SpanCall> {
  const left = new Set(pairedCalls(events))
  const found = new Map<string, SpanCall>()
  const isUnnamed = ({ attributes }: SpanView) => Number(attributes['gen_ai.tool.name'] === 'other')
  // A span without the name of its tool fits any call, so it gets one that no named span has.
  for (const span of spans.toSorted((one, next) => isUnnamed(one) - isUnnamed(next))) {
    const call = [...left].find((one) => isOfSpan(one, span))
    if (call === undefined) continue
    left.delete(call)
    const { started, ended } = call
    found.set(span.span_id, {
      name: started.name,
      input: started.input,
      output: ended?.output ?? null,
      ok: ended?.ok ?? false,
      pictures: ended?.pictures ?? [],
    })
  }
  return found
}

/** Pairs the beginnings and ends of calls as the mesh does for its spans: equal calls end in the order of their start. */
function pairedCalls(events: readonly FleetEvent[]): readonly Call[] {
  const calls: Call[] = []
  for (const { at, body } of events) {
    if (body.type === 'tool.started') calls.push({ startedAt: at, started: body, endedAt: null, ended: null })
    if (body.type !== 'tool.ended') continue
    const index = calls.findIndex(({ started, ended }) => ended === null && isSameCall(body, started))
    const call = calls[index]
    if (call !== undefined) calls[index] = { ...call, endedAt: at, ended: body }
  }
  return calls
}

function isOfSpan({ startedAt, started, endedAt }: Call, span: SpanView): boolean {
  const name = span.attributes['gen_ai.tool.name']
  if (name === undefined || startedAt !== span.started_at) return false
  if (name !== started.name && name !== 'other') return false
  return span.ended_at === null || endedAt === null || endedAt === span.ended_at
}

function isSameCall(ended: Ended, started: Started): boolean {
  return (
    ended.step === started.step &&
    ended.name === started.name &&
    (ended.subagent ?? null) === (started.subagent ?? null)
  )
}
