import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { ShownPicture } from '@flotilla/protocol/shown-picture'
import type { SpanView } from '@flotilla/protocol/trace-api'

/** What a call of a tool was given and gave, as the fleet told it. */
export interface SpanCall {
  readonly name: string
  readonly input: unknown
  /** Null while it goes on, and where its end was never heard. */
  readonly output: string | null
  readonly ok: boolean
  /** What it showed the agent. */
  readonly pictures: readonly ShownPicture[]
}

type Started = Extract<FleetEvent['body'], { type: 'tool.started' }>
type Ended = Extract<FleetEvent['body'], { type: 'tool.ended' }>

/**
 * The call that a span stands for, among the events of its run: a span bears no words of anybody, so it is found by its
 * moments and its name. Null where the events are no longer kept. Pure.
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
