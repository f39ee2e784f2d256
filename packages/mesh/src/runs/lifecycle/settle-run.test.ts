import { afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../access/caller.ts'
import { aLedgerHarness, person } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'
import { createRunChanges } from './change-run.ts'
import type { RunRecord } from './run-record.ts'
import { createRunTable } from './run-table.ts'

type SettledListener = (run: RunRecord) => void

let world: LedgerHarness
afterEach(() => world.ledger.close())

const said = { kind: 'chat', message: 'look', session: 'main' } as const
const recipientsOf = (run: { readonly id: string }) =>
  world.ledger.delivery.outbox.ofRun(run.id).map(({ recipient }) => recipient)

describe('the end of a run', () => {
  test('is told to the person who asked for it, once', async () => {
    world = aLedgerHarness()
    world.ledger.start()
    const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram' }
    const run = world.ledger.queue.submitRun(inChat, { agentId: 'ada', input: said })
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.state(run)).toBe('done')
    expect(recipientsOf(run)).toEqual(['human:telegram'])
  })

  test('that works for a run of ours is no note to a person, who else is answered twice for one question', async () => {
    world = aLedgerHarness()
    world.ledger.start()
    const parent = world.chat('ada')
    await world.clock.settle()
    const child = world.ledger.queue.submitRun(person, { agentId: 'bob', input: said, parent })
    await world.clock.settle()
    world.agents.finish('bob')
    world.agents.finish('ada')
    await world.clock.settle()
    expect([world.state(parent), world.state(child)]).toEqual(['done', 'done'])
    expect(recipientsOf(child)).toEqual([])
    expect(recipientsOf(parent)).toEqual(['human:cli'])
  })

  test.each([
    ['an agent', { kind: 'agent', agentId: 'bob', token: 'door', run: null }],
    ['this machine', { kind: 'internal' }],
  ] as const)('that %s asked for is told to nobody outside', async (_who, caller) => {
    world = aLedgerHarness()
    world.ledger.start()
    const run = world.ledger.queue.submitRun(caller, { agentId: 'ada', input: said })
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.state(run)).toBe('done')
    expect(recipientsOf(run)).toEqual([])
  })

  test.each([
    [{ response: 'four' }, { status: 'done', text: 'four' }],
    [
      { response: 'four', result: { rows: 4 } },
      { status: 'done', text: 'four', result: { rows: 4 } },
    ],
    [
      { status: 'failed', response: 'no', error: { code: 'rounds-exhausted', detail: 'no rounds left' } },
      { status: 'failed', text: 'no', code: 'rounds-exhausted' },
    ],
  ] as const)('as the agent told it, %j, is what the note says', async (said, body) => {
    world = aLedgerHarness()
    world.ledger.start()
    const run = world.chat('ada')
    await world.clock.settle()
    world.agents.finish('ada', said)
    await world.clock.settle()
    expect(world.ledger.delivery.outbox.ofRun(run.id)).toMatchObject([{ source: `run:${run.id}`, body }])
    expect(world.ledger.delivery.outbox.ofRun(run.id)[0]?.body).toEqual(body)
  })

  test('gives up what still waits for it, which nobody will read, and nothing that waits for another', () => {
    world = aLedgerHarness()
    const [run, other] = [world.chat('ada'), world.chat('ada')]
    const { outbox } = world.ledger.delivery
    for (const { id } of [run, other])
      outbox.add({ source: 'task:task_1', recipient: `run:${id}`, runId: id, body: null })
    world.ledger.lifecycle.cancelRun(person, run.id)
    expect(outbox.ofRun(run.id)).toContainEqual(
      expect.objectContaining({
        recipient: `run:${run.id}`,
        state: 'undeliverable',
        detail: expect.stringContaining('had ended') as string,
      }),
    )
    expect(outbox.ofRun(other.id)).toMatchObject([{ state: 'pending' }])
  })

  describe('and what is written with it', () => {
    const outcome = { status: 'cancelled', text: 'stopped', code: 'cancelled' } as const

    /** A queued run, and the one function that ends it, with what is to be written along. */
    function aQueuedRun(...handlers: SettledListener[]) {
      world = aLedgerHarness()
      return queuedBy(person, handlers)
    }

    function queuedBy(caller: Caller, handlers: readonly SettledListener[] = []) {
      const run = world.ledger.queue.submitRun(caller, { agentId: 'ada', input: said })
      const notes: (string | null)[] = []
      const { outbox } = world.ledger.delivery
      const rung: (string | undefined)[] = []
      const { settle, settled } = createRunChanges({
        ...world,
        table: createRunTable(world.database),
        outbox: {
          ...outbox,
          add: (note) => {
            notes.push(note.recipient)
            return outbox.add(note)
          },
        },
        notifier: {
          tell: (agentId) => void rung.push(`${agentId} ${world.state(run)}`),
        },
      })
      handlers.forEach(settled.subscribe)
      return { run, rung, notes, settle }
    }

    test('stands before the lane is rung for, in the order of the parts that write it', () => {
      const written: string[] = []
      const note =
        (name: string): SettledListener =>
        (settled) =>
          void written.push(`${name} ${settled.state} ${rung.length}`)
      const { run, rung, settle } = aQueuedRun(note('task'), note('money'))
      expect(settle(run, outcome)).toEqual(world.ledger.queries.find(run.id))
      expect(written).toEqual(['task cancelled 0', 'money cancelled 0'])
      expect(rung).toEqual(['ada cancelled'])
    })

    test('is taken back as a whole where one part cannot be written, and nobody is told', () => {
      const { run, rung, settle } = aQueuedRun(() => {
        throw new Error('no room')
      })
      expect(() => settle(run, outcome)).toThrow('no room')
      expect(world.ledger.queries.find(run.id)).toEqual(run)
      expect([recipientsOf(run), rung]).toEqual([[], []])
    })

    test('is written once: a second end writes nothing, tells nobody and rings for nobody', () => {
      let written = 0
      const { run, rung, settle } = aQueuedRun(() => void written++)
      settle(run, outcome)
      expect(settle(run, { status: 'done', text: 'late' })).toBe(null)
      expect([written, rung.length, recipientsOf(run).length]).toEqual([1, 1, 1])
    })

    test('is a note for a person who asked, and none without anybody to read it', () => {
      world = aLedgerHarness()
      for (const [caller, notes] of [
        [person, ['human:cli']],
        [{ kind: 'internal' }, []],
      ] as const) {
        const asked = queuedBy(caller)
        asked.settle(asked.run, outcome)
        expect([caller.kind, asked.notes]).toEqual([caller.kind, notes])
      }
    })
  })
})
