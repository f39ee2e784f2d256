import { afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { aLedgerHarness, person } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import { createRunChanges } from './change-run.ts'
import type { RunRecord } from './run-record.ts'
import { createRunTable } from './run-table.ts'

type SettledListener = (run: RunRecord) => void

let harness: LedgerHarness
afterEach(() => harness.ledger.close())

const said = { kind: 'chat', message: 'look', session: 'main' } as const
const recipientsOf = (run: { readonly id: string }) =>
  harness.ledger.delivery.outbox.ofRun(run.id).map(({ recipient }) => recipient)

describe('the end of a run', () => {
  test("a run's end notifies the person who started it, once", async () => {
    harness = aLedgerHarness()
    harness.ledger.start()
    const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram' }
    const run = harness.ledger.queue.submitRun(inChat, { agentId: 'ada', input: said })
    await harness.clock.settle()
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.state(run)).toBe('done')
    expect(recipientsOf(run)).toEqual(['human:telegram'])
  })

  test('the end of a child run does not notify the person, who would get two answers to one question', async () => {
    harness = aLedgerHarness()
    harness.ledger.start()
    const parent = harness.chat('ada')
    await harness.clock.settle()
    const child = harness.ledger.queue.submitRun(person, { agentId: 'bob', input: said, parent })
    await harness.clock.settle()
    harness.agents.finish('bob')
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect([harness.state(parent), harness.state(child)]).toEqual(['done', 'done'])
    expect(recipientsOf(child)).toEqual([])
    expect(recipientsOf(parent)).toEqual(['human:cli'])
  })

  test.each([
    ['an agent', { kind: 'agent', agentId: 'bob', token: 'door', run: null }],
    ['this machine', { kind: 'internal' }],
  ] as const)('a run that %s asked for notifies no outside caller', async (_who, caller) => {
    harness = aLedgerHarness()
    harness.ledger.start()
    const run = harness.ledger.queue.submitRun(caller, { agentId: 'ada', input: said })
    await harness.clock.settle()
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.state(run)).toBe('done')
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
  ] as const)('the note contains the agent’s report %j', async (said, body) => {
    harness = aLedgerHarness()
    harness.ledger.start()
    const run = harness.chat('ada')
    await harness.clock.settle()
    harness.agents.finish('ada', said)
    await harness.clock.settle()
    expect(harness.ledger.delivery.outbox.ofRun(run.id)).toMatchObject([{ source: `run:${run.id}`, body }])
    expect(harness.ledger.delivery.outbox.ofRun(run.id)[0]?.body).toEqual(body)
  })

  test("a run's end gives up only the pending notes of that run", () => {
    harness = aLedgerHarness()
    const [run, other] = [harness.chat('ada'), harness.chat('ada')]
    const { outbox } = harness.ledger.delivery
    for (const { id } of [run, other])
      outbox.add({ source: 'task:task_1', recipient: `run:${id}`, runId: id, body: null })
    harness.ledger.lifecycle.cancelRun(person, run.id)
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

    /** A queued run, and the function that settles it with the given handlers. */
    function aQueuedRun(...handlers: SettledListener[]) {
      harness = aLedgerHarness()
      return queuedBy(person, handlers)
    }

    function queuedBy(caller: Caller, handlers: readonly SettledListener[] = []) {
      const run = harness.ledger.queue.submitRun(caller, { agentId: 'ada', input: said })
      const notes: (string | null)[] = []
      const { outbox } = harness.ledger.delivery
      const rung: (string | undefined)[] = []
      const { settle, settled } = createRunChanges({
        ...harness,
        table: createRunTable(harness.database),
        outbox: {
          ...outbox,
          add: (note) => {
            notes.push(note.recipient)
            return outbox.add(note)
          },
        },
        notifier: {
          publish: (agentId) => void rung.push(`${agentId} ${harness.state(run)}`),
        },
      })
      handlers.forEach(settled.subscribe)
      return { run, rung, notes, settle }
    }

    test('a settlement is committed before the lane is woken, with its handlers in order', () => {
      const written: string[] = []
      const note =
        (name: string): SettledListener =>
        (settled) =>
          void written.push(`${name} ${settled.state} ${rung.length}`)
      const { run, rung, settle } = aQueuedRun(note('task'), note('money'))
      expect(settle(run, outcome)).toEqual(harness.ledger.queries.find(run.id))
      expect(written).toEqual(['task cancelled 0', 'money cancelled 0'])
      expect(rung).toEqual(['ada cancelled'])
    })

    test('a settlement is rolled back when a handler fails, and no notification is sent', () => {
      const { run, rung, settle } = aQueuedRun(() => {
        throw new Error('no room')
      })
      expect(() => settle(run, outcome)).toThrow('no room')
      expect(harness.ledger.queries.find(run.id)).toEqual(run)
      expect([recipientsOf(run), rung]).toEqual([[], []])
    })

    test('a second settlement writes nothing, notifies nothing and wakes no lane', () => {
      let written = 0
      const { run, rung, settle } = aQueuedRun(() => void written++)
      settle(run, outcome)
      expect(settle(run, { status: 'done', text: 'late' })).toBe(null)
      expect([written, rung.length, recipientsOf(run).length]).toEqual([1, 1, 1])
    })

    test('a settlement writes a notification for a person who started the run, and none otherwise', () => {
      harness = aLedgerHarness()
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
