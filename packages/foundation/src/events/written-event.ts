import type { FleetEvent } from '@flotilla/protocol/fleet-event'

/** An event, serialized as JSON. */
export interface WrittenEvent {
  /** The body alone, as stored in its row. */
  readonly body: string
  readonly whole: string
  /** The whole event as a WebSocket frame: the same bytes for every reader. */
  readonly frame: () => Buffer
}

/** Cached for as long as the event itself is referenced. */
const written = new WeakMap<FleetEvent, WrittenEvent>()

/** Serializes an event once, for its row and all subscribers. */
export function writtenEvent(event: FleetEvent): WrittenEvent {
  const known = written.get(event)
  if (known) return known
  const fresh = write(event)
  written.set(event, fresh)
  return fresh
}

function write({ seq, at, body: payload }: FleetEvent): WrittenEvent {
  const body = JSON.stringify(payload)
  const whole = `{"seq":${seq},"at":${JSON.stringify(at)},"body":${body}}`
  let frame: Buffer | null = null
  return { body, whole, frame: () => (frame ??= Buffer.from(`{"type":"event","event":${whole}}`)) }
}
