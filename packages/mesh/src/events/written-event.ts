import type { FleetEvent } from '@flotilla/protocol/fleet-event'

/** An event as JSON. */
export interface WrittenEvent {
  /** Of its body alone, as its row keeps it. */
  readonly body: string
  readonly whole: string
  /** The whole as a message of the pages' socket: the same bytes for every reader. */
  readonly frame: () => Buffer
}

/** As long as the event itself is held by somebody. */
const written = new WeakMap<FleetEvent, WrittenEvent>()

/** Written out once, by whoever needs it first, for its row and for all who listen. */
export function writtenEvent(event: FleetEvent): WrittenEvent {
  const known = written.get(event)
  if (known) return known
  const fresh = write(event)
  written.set(event, fresh)
  return fresh
}

function write({ seq, at, body: told }: FleetEvent): WrittenEvent {
  const body = JSON.stringify(told)
  const whole = `{"seq":${seq},"at":${JSON.stringify(at)},"body":${body}}`
  let frame: Buffer | null = null
  return { body, whole, frame: () => (frame ??= Buffer.from(`{"type":"event","event":${whole}}`)) }
}
