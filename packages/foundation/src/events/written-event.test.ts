import { fleetEventSchema } from '@flotilla/protocol/fleet-event'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { eventFrameSchema } from '@flotilla/protocol/dashboard-api'
import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../platform/log.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createEventBus } from './create-event-bus.ts'
import { writtenEvent } from './written-event.ts'

const event: FleetEvent = {
  seq: 7,
  at: 1.5,
  body: { type: 'note.added', note_id: 'note_1', agent_id: 'a', message: 'a "quote", a \u2028 and a line\n' },
}

test('a serialized event contains the event, alone and as a socket frame', () => {
  const { body, whole, frame } = writtenEvent(event)
  expect(JSON.parse(body)).toEqual(event.body)
  expect(fleetEventSchema.parse(JSON.parse(whole))).toEqual(event)
  expect(eventFrameSchema.parse(JSON.parse(frame().toString()))).toEqual({ type: 'event', event })
})

test('an event is serialized once for its row and all subscribers', () => {
  const bus = createEventBus({ database: migrated(), clock: createManualClock(), log: silentLog })
  let writings = 0
  const frames = new Set<Buffer>()
  for (let listener = 0; listener < 50; listener++)
    bus.subscribe((told) => frames.add(writtenEvent(told).frame()))
  const told = { ...event.body, toJSON: () => (writings++, event.body) }
  bus.publish(told)
  expect([writings, frames.size]).toEqual([1, 1])
  expect(bus.since(0, 1)).toMatchObject([{ body: event.body }])
})
