import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../platform/log.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import type { Database } from '../storage/database.ts'
import { createEventBus } from './create-event-bus.ts'
import type { EventBus } from './event-bus.ts'

const aBus = (database: Database = migrated(), log = silentLog): EventBus =>
  createEventBus({ database, clock: createManualClock(), log })

const note = (message: string): FleetEventBody => ({
  type: 'note.added',
  note_id: 'note_1',
  agent_id: 'a',
  message,
})
const text: FleetEventBody = { type: 'text.streamed', agent_id: 'a', run_id: 'run_1', content: 'x' }

function recordEvents(bus: EventBus): number[] {
  const seen: number[] = []
  bus.subscribe((event) => seen.push(event.seq))
  return seen
}

describe('the event bus', () => {
  test('events are numbered consecutively and stored', () => {
    const bus = aBus()
    const heard = recordEvents(bus)
    bus.publish(note('a'))
    bus.publish(note('b'))
    expect(heard).toEqual([1, 2])
    expect(bus.since(1, 10)).toMatchObject([{ seq: 2, body: { message: 'b' } }])
    expect(bus.since(0, 1)).toMatchObject([{ seq: 1 }])
  })

  test('streamed text is numbered and not stored', () => {
    const bus = aBus()
    const heard = recordEvents(bus)
    bus.publish(note('a'))
    bus.publish(text)
    bus.publish(note('b'))
    expect(heard).toEqual([1, 2, 3])
    expect(bus.since(0, 10).map((event) => event.seq)).toEqual([1, 3])
    expect(bus.droppedUntil()).toBe(0)
    expect(bus.lastSeq()).toBe(3)
  })

  test('no number is used twice after a crash, even if its event was not stored', () => {
    const database = migrated()
    const before = aBus(database)
    const heard = recordEvents(before)
    before.publish(note('a'))
    for (let count = 0; count < 2500; count++) before.publish(text)
    const after = aBus(database)
    after.publish(note('b'))
    const [late] = after.since(heard.at(-1)!, 10)
    expect(late).toMatchObject({ body: { message: 'b' } })
    expect(heard).not.toContain(late?.seq)
  })

  test('events are published after the commit, and neither published nor counted after a rollback', () => {
    const database = migrated()
    const bus = aBus(database)
    const heard = recordEvents(bus)
    database.transaction(() => {
      bus.publish(note('a'))
      expect(heard).toEqual([])
    })
    const work = () => {
      bus.publish(note('b'))
      bus.publish(text)
      throw new Error('no')
    }
    expect(() => database.transaction(work)).toThrow('no')
    bus.publish(note('c'))
    expect(heard).toEqual([1, 2])
    expect(bus.since(0, 10).map((event) => event.body)).toEqual([note('a'), note('c')])
  })

  test('events are delivered in order when a listener publishes', () => {
    const bus = aBus()
    const heard: number[] = []
    bus.subscribe((event) => {
      if (event.seq === 1) bus.publish(note('from a listener'))
    })
    bus.subscribe((event) => heard.push(event.seq))
    bus.publish(note('a'))
    expect(heard).toEqual([1, 2])
  })

  test('a listener that throws is logged and still gets later events', () => {
    const faults: string[] = []
    const bus = aBus(migrated(), { ...silentLog, error: (_fields, fact) => faults.push(fact) })
    let calls = 0
    bus.subscribe(() => {
      calls++
      throw new Error('no')
    })
    const heard = recordEvents(bus)
    bus.publish(note('a'))
    bus.publish(note('b'))
    expect([calls, heard.length, faults.length]).toEqual([2, 2, 2])
  })

  test('a listener that unsubscribed gets no more events', () => {
    const bus = aBus()
    const heard: number[] = []
    const stop = bus.subscribe((event) => heard.push(event.seq))
    bus.publish(note('a'))
    stop()
    bus.publish(note('b'))
    expect(heard).toEqual([1])
  })

  test('the newest ten thousand events are kept, and the number of the last deleted one is known', () => {
    const database = migrated()
    const bus = aBus(database)
    database.transaction(() => {
      for (let count = 0; count < 10_600; count++) bus.publish(note('a'))
    })
    const dropped = bus.droppedUntil()
    expect(dropped).toBeGreaterThan(300)
    expect(bus.since(0, 20_000)[0]?.seq).toBe(dropped + 1)
    expect(bus.since(dropped, 20_000).length).toBe(10_600 - dropped)
    expect(10_600 - dropped).toBeGreaterThanOrEqual(10_000)
  })

  test('a busy agent does not push out the events of another one', () => {
    const database = migrated()
    const bus = aBus(database)
    database.transaction(() => {
      bus.publish({ ...note('of long ago'), agent_id: 'quiet' } as FleetEventBody)
      for (let count = 0; count < 10_600; count++) bus.publish(note('a'))
    })
    expect(bus.since(0, 2)).toMatchObject([
      { seq: 1, body: { agent_id: 'quiet' } },
      { seq: bus.droppedUntil() + 1 },
    ])
  })

  test('an event that cannot be written is dropped and reported later, and the work continues', () => {
    const database = migrated()
    const said: unknown[] = []
    const bus = aBus(database, { ...silentLog, warn: (fields) => said.push(fields) })
    const heard = recordEvents(bus)
    bus.publish(note('a'))
    database.exec('PRAGMA query_only = ON')
    bus.publish(note('b'))
    bus.publish(note('c'))
    database.exec('PRAGMA query_only = OFF')
    expect(said).toEqual([])
    bus.publish(note('d'))
    expect(said).toEqual([{ dropped: 2 }])
    expect(heard.length).toBe(2)
    expect(bus.since(0, 10).map(({ body }) => body)).toEqual([note('a'), note('d')])
  })

  test('an event that cannot be written rolls back the change that it belongs to', () => {
    const database = migrated()
    const bus = aBus(database)
    bus.publish(note('a'))
    const change = () =>
      database.transaction(() => {
        database.exec('PRAGMA query_only = ON')
        bus.publish(note('b'))
      })
    expect(change).toThrow('readonly')
    database.exec('PRAGMA query_only = OFF')
    expect(bus.since(0, 10).map(({ body }) => body)).toEqual([note('a')])
  })
})
