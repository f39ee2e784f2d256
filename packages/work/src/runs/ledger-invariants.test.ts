import fc from 'fast-check'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { patient } from '../../../../tests/support/patience.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'

const agentIds = ['operator', 'ada', 'bob'] as const

/** The terminal states, written out here so that the test does not rely on the code under test. */
const endings: readonly string[] = ['done', 'failed', 'cancelled', 'expired']
const hasEnded = ({ state }: { readonly state: string }): boolean => endings.includes(state)

/** What the test saw and did from outside; the ledger is checked against it. */
interface Seen {
  /** Runs that a person started; work that agents give each other is not included. */
  readonly requestedByPerson: Set<string>
  /** Outcomes by run id; an outcome may never change. */
  readonly outcomes: Map<string, string>
}

type Step =
  | {
      readonly do: 'finish' | 'fail' | 'complete' | 'die' | 'break' | 'hang'
      readonly agent: number
    }
  | { readonly do: 'chat'; readonly agent: number }
  | { readonly do: 'chat-for'; readonly agent: number; readonly to: number }
  | { readonly do: 'give'; readonly agent: number; readonly to: number }
  | { readonly do: 'cancel'; readonly run: number }
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'crash' }

const agent = fc.nat({ max: agentIds.length - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('chat', 'finish', 'finish', 'fail', 'complete', 'die', 'break', 'hang'),
    agent,
  }),
  fc.record({ do: fc.constantFrom('give', 'give', 'give', 'chat-for'), agent, to: agent }),
  fc.record({ do: fc.constant('cancel'), run: fc.nat({ max: 20 }) }),
  fc.record({ do: fc.constant('wait'), seconds: fc.constantFrom(1, 5, 20, 70) }),
  fc.record({ do: fc.constant('crash') }),
)

/** Some steps are rejected by design, for example a hand-off from a lane without a live run. */
function quietly(work: () => unknown): void {
  try {
    work()
  } catch {
    // The ledger rejected the step and must be unchanged; the checks after each step verify that.
  }
}

async function play(harness: LedgerHarness, next: Step, { requestedByPerson }: Seen): Promise<LedgerHarness> {
  if (next.do === 'chat') {
    requestedByPerson.add(harness.chat(agentIds[next.agent]!).id)
    return harness
  }
  if ('agent' in next) {
    playAgent(harness, next)
    return harness
  }
  switch (next.do) {
    case 'wait':
      await harness.clock.advance(next.seconds * 1000)
      return harness
    case 'crash': {
      const again = await harness.restarted()
      again.ledger.start()
      return again
    }
    case 'cancel': {
      const runs = harness.ledger.queries.list({ limit: 500 })
      const run = runs[next.run % Math.max(1, runs.length)]
      if (run) quietly(() => harness.ledger.lifecycle.cancelRun(person, run.id))
      return harness
    }
  }
}

type AgentStep = Exclude<Extract<Step, { readonly agent: number }>, { readonly do: 'chat' }>

function playAgent(harness: LedgerHarness, next: AgentStep): void {
  const agentId = agentIds[next.agent]!
  const caller = harness.callerOf(agentId)
  switch (next.do) {
    case 'finish':
      // Sent twice, because an agent may report the same end again.
      harness.agents.finish(agentId)
      harness.agents.finish(agentId)
      return
    case 'fail':
      harness.agents.finish(agentId, { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
      return
    case 'complete': {
      const taskId = caller.kind === 'agent' ? caller.run?.taskId : null
      if (!taskId) return
      quietly(() => harness.completeTask(caller, { taskId, status: 'done', summary: 'did it', result: null }))
      return
    }
    case 'die':
      harness.agents.die(agentId)
      return
    case 'break':
      harness.agents.breakStreams(agentId)
      return
    case 'hang':
      harness.agents.hang(agentId, true)
      return
    case 'chat-for': {
      // The run that works on a person's behalf is the parent.
      const parent =
        caller.kind === 'agent' && caller.run ? harness.ledger.queries.find(caller.run.runId) : null
      if (!parent) return
      const input = { kind: 'chat', message: 'for another', session: 'side' } as const
      quietly(() => harness.ledger.queue.submitRun(person, { agentId: agentIds[next.to]!, input, parent }))
      return
    }
    case 'give': {
      const input = { to: agentIds[next.to]!, title: 'work', description: '', data: {} }
      quietly(() => harness.handOff(caller, input))
    }
  }
}

function column(harness: LedgerHarness, sql: string): readonly unknown[] {
  return harness.database
    .prepare(sql)
    .all()
    .map((row) => Object.values(row)[0])
}

function check(harness: LedgerHarness, { requestedByPerson, outcomes }: Seen): void {
  const runs = harness.ledger.queries.list({ limit: 500 })
  for (const agentId of agentIds) {
    expect(runs.filter((run) => run.agentId === agentId && run.state === 'running').length).toBeLessThan(2)
  }
  for (const run of runs) {
    const notes = harness.ledger.delivery.outbox
      .ofRun(run.id)
      .filter((note) => note.source === `run:${run.id}`)
    expect(hasEnded(run)).toBe(run.outcome !== null)
    // Each caller is notified once. A person whose run works for another run is notified by that other run; a
    // second notification would answer one question twice.
    const isNotified = hasEnded(run) && requestedByPerson.has(run.id)
    expect(notes.map(({ recipient }) => recipient)).toEqual(isNotified ? ['human:cli'] : [])
    const seen = outcomes.get(run.id)
    if (run.outcome && seen === undefined) outcomes.set(run.id, JSON.stringify(run.outcome))
    if (seen !== undefined) expect(JSON.stringify(run.outcome)).toBe(seen)
  }
  const settlements = column(harness, "SELECT subject FROM journal WHERE action = 'run.settled'")
  expect(new Set(settlements).size).toBe(settlements.length)
}

/**
 * Checks that each finished task notified its live parent in exactly one turn, with the same text at every
 * attempt.
 */
function checkTold(harness: LedgerHarness): void {
  for (const task of harness.taskTable.list({ limit: 500 })) {
    if (task.parent_run_id === null) continue
    const notes = harness.ledger.delivery.outbox
      .ofRun(task.parent_run_id)
      .filter((note) => note.source.includes(`${task.id}:`))
    expect(notes).toHaveLength(1)
    const words = new Set(
      harness.agents.sent
        .filter(({ runId, message }) => runId === task.parent_run_id && message.includes(`Task ${task.id} `))
        .map((sending) => sending.message),
    )
    // A turn that was dispatched but never reached its agent was not delivered.
    expect(words.size).toBeLessThan(2)
    if (words.size === 1) expect(notes[0]?.state).toBe('delivered')
    // A parent that ended successfully has completed all its turns.
    const asker = harness.ledger.queries.find(task.parent_run_id)
    if (asker?.state === 'done')
      expect([task.id, words.size, notes[0]?.state]).toEqual([task.id, 1, 'delivered'])
    if (notes[0]?.state === 'undeliverable') expect(words.size).toBe(0)
  }
}

/** Agents finish their work; every run ends before any time limit. */
async function workToTheEnd(harness: LedgerHarness): Promise<void> {
  for (const agentId of agentIds) harness.agents.hang(agentId, false)
  for (let round = 0; round < 300; round++) {
    if (harness.ledger.queries.list({ limit: 500 }).every(hasEnded)) return
    for (let agent = 0; agent < agentIds.length; agent++) {
      playAgent(harness, { do: 'complete', agent })
      playAgent(harness, { do: 'finish', agent })
    }
    await harness.clock.advance(2000)
  }
}

/** Agents finish nothing, so that every run ends by a time limit. */
async function waitToTheEnd(harness: LedgerHarness): Promise<void> {
  for (let hour = 0; hour < 400; hour++) {
    if (harness.ledger.queries.list({ limit: 500 }).every(hasEnded)) return
    await harness.clock.leap(3_600_000)
    await harness.clock.advance(3000)
  }
}

test(
  'in any order of events, every accepted run has one outcome and every caller is notified once',
  async () => {
    heedsLesson(60)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 40 }),
        fc.boolean(),
        async (steps, friendly) => {
          let harness = aLedgerHarness()
          const seen: Seen = { requestedByPerson: new Set(), outcomes: new Map() }
          harness.ledger.start()
          for (const next of steps) {
            harness = await play(harness, next, seen)
            await harness.clock.settle()
            check(harness, seen)
          }
          await (friendly ? workToTheEnd(harness) : waitToTheEnd(harness))
          const open = harness.ledger.queries.list({ limit: 500 }).filter((run) => !hasEnded(run))
          expect(open).toEqual([])
          if (friendly) expect(column(harness, "SELECT id FROM runs WHERE state = 'expired'")).toEqual([])
          check(harness, seen)
          checkTold(harness)
          await harness.ledger.close()
          harness.database.close()
        },
      ),
      { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 450 : 75 },
    )
  },
  patient(60_000),
)
