import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { createNotes } from './notes.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })

function someNotes() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = { now: () => 1000, sleep: async () => {} }
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  bus.subscribe((event) => void events.push(event.body))
  let count = 0
  const notes = createNotes({
    database,
    clock,
    newId: (prefix) => `${prefix}_${++count}`,
    guard: (caller, action) => {
      const own = caller.kind === 'agent' && action.do === 'act-for-self' && action.agentId === caller.agentId
      if (!own && !(caller.kind === 'human' && action.do === 'view-fleet')) throw new Problem('denied')
    },
    journal: { append: () => {} },
    events: bus,
  })
  return { notes, database, events }
}

describe('telling the owner', () => {
  test('notifying the owner creates a note and an event', () => {
    const { notes, events } = someNotes()
    const note = notes.notifyOwner(agent('a'), { message: 'done' })
    expect(note).toEqual({ id: 'note_1', agentId: 'a', message: 'done', createdAt: 1000 })
    expect(events).toEqual([{ type: 'note.added', note_id: 'note_1', agent_id: 'a', message: 'done' }])
    expect(notes.list(owner, 10)).toEqual([note])
  })

  test('a note of the mesh is marked as such', () => {
    const { notes, events } = someNotes()
    notes.tellOwner('a', 'Agent a is in quarantine.')
    expect(events).toMatchObject([{ type: 'note.added', agent_id: 'a', by: 'mesh' }])
  })

  test('the same key of the same agent gives the same note', () => {
    const { notes, events } = someNotes()
    const first = notes.notifyOwner(agent('a'), { message: 'one', idempotencyKey: 'run_1:4' })
    expect(notes.notifyOwner(agent('a'), { message: 'two', idempotencyKey: 'run_1:4' })).toEqual(first)
    expect(notes.notifyOwner(agent('b'), { message: 'one', idempotencyKey: 'run_1:4' }).id).not.toBe(first.id)
    notes.notifyOwner(agent('a'), { message: 'no key' })
    notes.notifyOwner(agent('a'), { message: 'no key' })
    expect(events).toHaveLength(4)
  })

  test('terminal control characters are removed from notes', () => {
    const { notes } = someNotes()
    expect(notes.notifyOwner(agent('a'), { message: '\u001B[2Jgone\u202E' }).message).toBe('[2Jgone')
  })

  test.each(['', '  ', '\u200B', 'x'.repeat(2001)])(
    'a message of no words or too many is refused: case %#',
    (message) => {
      const { notes, events } = someNotes()
      const tell = () => notes.notifyOwner(agent('a'), { message })
      expect(tell).toThrow(expect.objectContaining({ code: 'bad-request' }))
      expect(events).toEqual([])
    },
  )

  test('only agents can send notes', () => {
    const { notes } = someNotes()
    expect(() => notes.notifyOwner(owner, { message: 'x' })).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
    expect(() => notes.list(agent('a'), 1)).toThrow(expect.objectContaining({ code: 'denied' }))
  })

  test('the newest 5000 notes are kept and listed newest first', () => {
    const { notes, database } = someNotes()
    database.transaction(() => {
      for (let n = 0; n < 5003; n++) notes.notifyOwner(agent('a'), { message: `m${n}` })
    })
    expect(database.prepare('SELECT count(*) AS count FROM notes').get()?.['count']).toBe(5000)
    expect(notes.list(owner, 2).map((note) => note.message)).toEqual(['m5002', 'm5001'])
  })

  test('many notes of one agent delete none of another agent', () => {
    const { notes, database } = someNotes()
    database.transaction(() => {
      for (let n = 0; n < 3; n++) notes.notifyOwner(agent('quiet'), { message: `q${n}` })
      for (let n = 0; n < 5010; n++) notes.notifyOwner(agent('loud'), { message: `m${n}` })
    })
    const kept = (agentId: string) =>
      database.prepare('SELECT count(*) AS count FROM notes WHERE agent_id = ?').get(agentId)?.['count']
    expect(kept('quiet')).toBe(3)
    expect(kept('loud')).toBe(4997)
  })
})
