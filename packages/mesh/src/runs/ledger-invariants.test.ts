import { isTerminal } from '@flotilla/protocol/run'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aLedgerWorld, person } from './ledger-world.ts'
import type { LedgerWorld } from './ledger-world.ts'
import { askerOutside } from './settle-run.ts'

const agentIds = ['operator', 'ada', 'bob'] as const

type Step =
  | {
      readonly do: 'chat' | 'finish' | 'fail' | 'complete' | 'die' | 'break' | 'hang'
      readonly agent: number
    }
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
  fc.record({ do: fc.constant('give'), agent, to: agent }),
  fc.record({ do: fc.constant('cancel'), run: fc.nat({ max: 20 }) }),
  fc.record({ do: fc.constant('wait'), seconds: fc.constantFrom(1, 5, 20, 70) }),
  fc.record({ do: fc.constant('crash') }),
)

/** What a step refuses is part of the play: a lane without a live run cannot hand off. */
function quietly(work: () => unknown): void {
  try {
    work()
  } catch {
    // The ledger has refused, and must be as it was: the checks after each step see to that.
  }
}

async function play(world: LedgerWorld, next: Step): Promise<LedgerWorld> {
  if ('agent' in next) {
    playAgent(world, next)
    return world
  }
  switch (next.do) {
    case 'wait':
      await world.clock.advance(next.seconds * 1000)
      return world
    case 'crash': {
      const again = await world.restarted()
      again.ledger.start()
      return again
    }
    case 'cancel': {
      const runs = world.ledger.list({ limit: 500 })
      const run = runs[next.run % Math.max(1, runs.length)]
      if (run) quietly(() => world.ledger.cancelRun(person, run.id))
      return world
    }
  }
}

function playAgent(world: LedgerWorld, next: Extract<Step, { readonly agent: number }>): void {
  const agentId = agentIds[next.agent]!
  const caller = world.callerOf(agentId)
  switch (next.do) {
    case 'chat':
      world.chat(agentId)
      return
    case 'finish':
      // Twice: an agent may say the same end again.
      world.agents.finish(agentId)
      world.agents.finish(agentId)
      return
    case 'fail':
      world.agents.finish(agentId, { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
      return
    case 'complete': {
      const taskId = caller.kind === 'agent' ? caller.run?.taskId : null
      if (!taskId) return
      quietly(() => world.completeTask(caller, { taskId, status: 'done', summary: 'did it', result: null }))
      return
    }
    case 'die':
      world.agents.die(agentId)
      return
    case 'break':
      world.agents.breakStreams(agentId)
      return
    case 'hang':
      world.agents.hang(agentId, true)
      return
    case 'give': {
      const input = { to: agentIds[next.to]!, title: 'work', description: '', data: {} }
      quietly(() => world.handOff(caller, input))
    }
  }
}

function column(world: LedgerWorld, sql: string): readonly unknown[] {
  return world.database
    .prepare(sql)
    .all()
    .map((row) => Object.values(row)[0])
}

/** Outcomes seen so far: none may ever change. */
function check(world: LedgerWorld, outcomes: Map<string, string>): void {
  const runs = world.ledger.list({ limit: 500 })
  for (const agentId of agentIds) {
    expect(runs.filter((run) => run.agentId === agentId && run.state === 'running').length).toBeLessThan(2)
  }
  for (const run of runs) {
    const notes = world.ledger.outbox.ofRun(run.id).filter((note) => note.source === `run:${run.id}`)
    expect(isTerminal(run.state)).toBe(run.outcome !== null)
    expect(notes).toHaveLength(run.outcome && askerOutside(run) ? 1 : 0)
    const seen = outcomes.get(run.id)
    if (run.outcome && seen === undefined) outcomes.set(run.id, JSON.stringify(run.outcome))
    if (seen !== undefined) expect(JSON.stringify(run.outcome)).toBe(seen)
  }
  const settlements = column(world, "SELECT subject FROM journal WHERE action = 'run.settled'")
  expect(new Set(settlements).size).toBe(settlements.length)
}

/** Every task that ended told its living asker in exactly one turn, in the same words at every attempt. */
function checkTold(world: LedgerWorld): void {
  for (const task of world.taskTable.list({ limit: 500 })) {
    if (task.parent_run_id === null) continue
    const notes = world.ledger.outbox
      .ofRun(task.parent_run_id)
      .filter((note) => note.source.includes(`${task.id}:`))
    expect(notes).toHaveLength(1)
    const words = new Set(
      world.agents.sent
        .filter(({ runId, message }) => runId === task.parent_run_id && message.includes(`Task ${task.id} `))
        .map((sending) => sending.message),
    )
    // A turn that was begun and never reached its agent was delivered to nobody.
    expect(words.size).toBeLessThan(2)
    if (words.size === 1) expect(notes[0]?.state).toBe('delivered')
    // An asker that its agent ended well has been through all its turns.
    const asker = world.ledger.find(task.parent_run_id)
    if (asker?.state === 'done')
      expect([task.id, words.size, notes[0]?.state]).toEqual([task.id, 1, 'delivered'])
    if (notes[0]?.state === 'undeliverable') expect(words.size).toBe(0)
  }
}

/** Agents that end what they have; every run ends without any limit of time being reached. */
async function workToTheEnd(world: LedgerWorld): Promise<void> {
  for (const agentId of agentIds) world.agents.hang(agentId, false)
  for (let round = 0; round < 300; round++) {
    if (world.ledger.list({ limit: 500 }).every((run) => isTerminal(run.state))) return
    for (let agent = 0; agent < agentIds.length; agent++) {
      playAgent(world, { do: 'complete', agent })
      playAgent(world, { do: 'finish', agent })
    }
    await world.clock.advance(2000)
  }
}

/** Agents that never end anything: time ends it. */
async function waitToTheEnd(world: LedgerWorld): Promise<void> {
  for (let hour = 0; hour < 400; hour++) {
    if (world.ledger.list({ limit: 500 }).every((run) => isTerminal(run.state))) return
    await world.clock.leap(3_600_000)
    await world.clock.advance(3000)
  }
}

test('whatever happens in whatever order, every accepted run has one outcome and every asker is told once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.boolean(),
      async (steps, friendly) => {
        let world = aLedgerWorld()
        const outcomes = new Map<string, string>()
        world.ledger.start()
        for (const next of steps) {
          world = await play(world, next)
          await world.clock.settle()
          check(world, outcomes)
        }
        await (friendly ? workToTheEnd(world) : waitToTheEnd(world))
        const open = world.ledger.list({ limit: 500 }).filter((run) => !isTerminal(run.state))
        expect(open).toEqual([])
        if (friendly) expect(column(world, "SELECT id FROM runs WHERE state = 'expired'")).toEqual([])
        check(world, outcomes)
        checkTold(world)
        await world.ledger.close()
        world.database.close()
      },
    ),
    { numRuns: 150 },
  )
}, 60_000)
