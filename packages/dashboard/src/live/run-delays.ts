import type { FleetEvent } from '@flotilla/protocol/fleet-event'

/** When the model of each delayed run is called again, in milliseconds since 1970, by the id of the run. */
export type RunDelays = ReadonlyMap<string, number>

/** Applies events: a retry delays its run until the next event of that run, except a steer. Pure. */
export function takeDelays(before: RunDelays, events: readonly FleetEvent[]): RunDelays {
  const after = new Map(before)
  for (const { at, body } of events) {
    if (!('run_id' in body) || body.run_id == null || body.type === 'steer.changed') continue
    if (body.type === 'model.delayed' && body.state === 'retries')
      after.set(body.run_id, at + body.seconds * 1000)
    else after.delete(body.run_id)
  }
  const isSame = after.size === before.size && [...after].every(([id, until]) => before.get(id) === until)
  return isSame ? before : after
}
