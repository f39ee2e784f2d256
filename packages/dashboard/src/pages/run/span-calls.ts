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

/**
 * Returns the tool call of a span, from the events of its run. A span contains no text of people or agents, so the
 * call is found by timestamps and name. Null if the events are no longer stored. Pure.
 */
export function callOfSpan(span: SpanView, events: readonly FleetEvent[]): SpanCall | null {
  const name = span.attributes['gen_ai.tool.name']
  if (name === undefined) return null
  const candidates = events.filter(
    ({ at, body }) =>
      body.type === 'tool.started' && at === span.started_at && (name === body.name || name === 'other'),
  )
  for (const { seq, body } of candidates) {
    const started = body as Started // the filter has just looked
    const ended = events.find(
      (event) => event.seq > seq && event.body.type === 'tool.ended' && isSameCall(event.body, started),
    )
    const end = ended?.body.type === 'tool.ended' ? ended.body : null
    if (ended && span.ended_at !== null && ended.at > span.ended_at) continue
    return {
      name: started.name,
      input: started.input,
      output: end?.output ?? null,
      ok: end?.ok ?? false,
      pictures: end?.pictures ?? [],
    }
  }
  return null
}

function isSameCall(ended: Ended, started: Started): boolean {
  return (
    ended.step === started.step &&
    ended.name === started.name &&
    (ended.subagent ?? null) === (started.subagent ?? null)
  )
}
