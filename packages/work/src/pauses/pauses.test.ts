import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import { createPauses } from './pauses.ts'
import type { Pauses } from './pauses.ts'
import { runLimits } from '../runs/index.ts'

const mesh: Caller = { kind: 'system' }

function aPausedHarness(before?: ReturnType<typeof aLedgerHarness>) {
  const held: { pauses: Pauses | null } = { pauses: null }
  const options = { pausedReason: (agentId: string) => held.pauses?.reasonFor(agentId) ?? null }
  const harness = aLedgerHarness(
    before ? { ...options, database: before.database, clock: before.clock, agents: before.agents } : options,
  )
  const makers = new Map<string, string>()
  const pauses = createPauses({
    ...harness,
    lanes: harness.runs,
    agentIds: () => ['w', 'x', ...makers.keys()],
    makerOf: (agentId) => makers.get(agentId) ?? null,
  })
  held.pauses = pauses
  const trigger = (agentId: string, key: string, kind: 'cron' | 'webhook' = 'webhook') =>
    harness.ledger.queue.submitRun(mesh, {
      agentId,
      input: { kind: 'chat', message: key, session: `hook:${key}` },
      idempotencyKey: key,
      trigger: kind,
    })
  return { ...harness, pauses, trigger, makers }
}

const whole = { agentId: null, reason: 'moving house', now: false }

describe('while the fleet is paused', () => {
  it('runs of triggers wait and people are served; resumed, each begins once, in order', async () => {
    const harness = aPausedHarness()
    harness.ledger.start()
    harness.pauses.pause(person, whole)
    const first = harness.trigger('w', 'one')
    const second = harness.trigger('w', 'two')
    const asked = harness.chat('w')
    await harness.clock.advance(5000)
    expect(harness.agents.working('w')?.runId).toBe(asked.id)
    harness.agents.finish('w', { response: 'done' })
    await harness.clock.advance(5000)
    expect(harness.agents.working('w')).toBeNull()
    expect([harness.state(first), harness.state(second)]).toEqual(['queued', 'queued'])
    expect(harness.pauses.view()).toMatchObject([{ agent_id: null, held: 2, reason: 'moving house' }])

    expect(harness.pauses.resume(person, null)).toMatchObject({ released: 2, still_paused: [] })
    await harness.clock.advance(2000)
    expect(harness.agents.working('w')?.runId).toBe(first.id)
    harness.agents.finish('w', { response: 'done' })
    await harness.clock.advance(2000)
    expect(harness.agents.working('w')?.runId).toBe(second.id)
    await harness.ledger.close()
  })

  it('paused runs leave room for people in the lane, however many there are', () => {
    const harness = aPausedHarness()
    harness.pauses.pause(person, whole)
    for (let count = 0; count < runLimits.laneQueueMax; count++) harness.trigger('w', `event ${count}`)
    expect(() => harness.trigger('w', 'one more')).toThrow(expect.objectContaining({ code: 'lane-full' }))
    for (let count = 0; count < runLimits.laneQueueMax; count++) harness.chat('w')
    expect(() => harness.chat('w')).toThrow(expect.objectContaining({ code: 'lane-full' }))
    expect(() => harness.trigger('w', 'one more')).toThrow(expect.objectContaining({ code: 'lane-full' }))
  })

  it('a pause of an agent includes the agents that it spawned and their children, and no others', async () => {
    const harness = aPausedHarness()
    harness.makers.set('spawn_1', 'w').set('spawn_2', 'spawn_1').set('spawn_3', 'x')
    harness.ledger.start()
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    const held = [harness.trigger('spawn_1', 'one'), harness.trigger('spawn_2', 'two')]
    const free = harness.trigger('spawn_3', 'three')
    await harness.clock.advance(2000)
    expect([...held, free].map(harness.state)).toEqual(['queued', 'queued', 'running'])
    expect(harness.pauses.view()).toMatchObject([{ agent_id: 'w', held: 2 }])
    expect(harness.pauses.resume(person, 'w')).toMatchObject({ released: 2, still_paused: [] })
    await harness.clock.advance(2000)
    expect(held.map(harness.state)).toEqual(['running', 'running'])
    expect(harness.pauses.pause(person, { ...whole, agentId: 'spawn_1', now: true })).toMatchObject({
      working: [],
    })
    expect(held.map(harness.state)).toEqual(['cancelled', 'cancelled'])
    expect(harness.state(free)).toBe('running')
    await harness.ledger.close()
  })

  it('a spawned agent stays paused while its own pause exists', () => {
    const harness = aPausedHarness()
    harness.makers.set('spawn_1', 'w')
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    harness.pauses.pause(person, { ...whole, agentId: 'spawn_1', reason: 'its own' })
    expect(harness.pauses.resume(person, 'w').still_paused).toEqual(['spawn_1'])
    expect(harness.pauses.reasonFor('spawn_1')).toBe('its own')
    expect(harness.pauses.reasonFor('w')).toBeNull()
  })

  it('a pause outlives the mesh', async () => {
    const before = aPausedHarness()
    before.pauses.pause(person, { ...whole, agentId: 'w' })
    const after = aPausedHarness(before)
    expect(after.pauses.reasonFor('w')).toBe('moving house')
    expect(after.pauses.reasonFor('x')).toBeNull()
  })

  it('what waits for its end does not expire, and has its whole time after it', async () => {
    const harness = aPausedHarness()
    harness.ledger.start()
    harness.pauses.pause(person, whole)
    const run = harness.trigger('w', 'one')
    await harness.clock.leap(runLimits.queuedMaxMs * 2)
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('queued')
    harness.pauses.resume(person, null)
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('running')
    await harness.ledger.close()
  })

  it('work that comes of a trigger is held too, and work that comes of a person is not', async () => {
    const harness = aPausedHarness()
    harness.ledger.start()
    const cause = harness.trigger('w', 'one', 'cron')
    await harness.clock.advance(2000)
    harness.pauses.pause(person, whole)
    const order = { to: 'x', title: 'do', description: 'this', data: {} }
    const held = harness.handOff(harness.callerOf('w'), { ...order, idempotencyKey: 'a' })
    expect(harness.ledger.queries.find(cause.id)?.proactive).toBe(true)
    expect(harness.ledger.queue.proactiveOf('x').map((run) => run.taskId)).toEqual([held.task_id])
    harness.agents.finish('w', { response: 'done' })
    await harness.clock.advance(5000)
    expect(harness.agents.working('x')).toBeNull()
    const asked = harness.chat('w')
    await harness.clock.advance(2000)
    expect(harness.ledger.lifecycle.live.liveRunOf('w')?.runId).toBe(asked.id)
    harness.handOff(harness.callerOf('w'), { ...order, idempotencyKey: 'b' })
    await harness.clock.advance(2000)
    expect(harness.agents.working('x')).not.toBeNull()
    await harness.ledger.close()
  })

  it('runs at work go on, and are cancelled where the pause says now', async () => {
    const harness = aPausedHarness()
    harness.ledger.start()
    const run = harness.trigger('w', 'one')
    await harness.clock.advance(2000)
    expect(harness.pauses.pause(person, whole)).toMatchObject({ working: [run.id] })
    expect(harness.state(run)).toBe('running')
    expect(harness.pauses.pause(person, { ...whole, now: true })).toMatchObject({ working: [] })
    expect(harness.state(run)).toBe('cancelled')
    await harness.ledger.close()
  })
})

describe('the end of a pause', () => {
  it('a pause that could not be stored does not exist, and the caller gets an error', async () => {
    const held = { full: false }
    const before = aLedgerHarness()
    const journal: typeof before.journal = {
      ...before.journal,
      append: (entry) => {
        if (held.full && entry.action === 'work.resumed') throw new Error('database or disk is full')
        return before.journal.append(entry)
      },
    }
    const pauses = createPauses({
      ...before,
      journal,
      lanes: before.runs,
      agentIds: () => ['w'],
      makerOf: () => null,
    })
    pauses.pause(person, whole)
    held.full = true
    expect(() => pauses.resume(person, null)).toThrow(/disk is full/)
    expect(pauses.reasonFor('w')).toBe('moving house')
    expect(pauses.view()).toHaveLength(1)
    held.full = false
    expect(pauses.resume(person, null)).toMatchObject({ still_paused: [] })
    expect(pauses.reasonFor('w')).toBeNull()
  })

  it('the end of a pause counts the resumed runs, without those that another pause holds', () => {
    const harness = aPausedHarness()
    harness.pauses.pause(person, whole)
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    harness.trigger('w', 'one')
    harness.trigger('x', 'two')
    harness.trigger('x', 'three')
    expect(harness.pauses.resume(person, 'w')).toMatchObject({ released: 0, still_paused: ['w'] })
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    expect(harness.pauses.resume(person, null)).toMatchObject({ released: 2, still_paused: ['w'] })
    expect(harness.pauses.resume(person, 'w')).toMatchObject({ released: 1, still_paused: [] })
  })
})

describe('a run that lost its agent and waits for its next attempt', () => {
  it('a run that lost its agent and waits for its next attempt is at work and not held, and is cancelled where the pause says now', async () => {
    const harness = aPausedHarness()
    harness.ledger.start()
    const run = harness.trigger('w', 'one')
    await harness.clock.advance(2000)
    harness.agents.die('w')
    for (let at = 0; at < 100 && harness.state(run) !== 'queued'; at++) await harness.clock.advance(100)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(harness.pauses.pause(person, whole)).toMatchObject({ held: 0, working: [run.id] })
    expect(harness.pauses.pause(person, { ...whole, now: true })).toMatchObject({ held: 0, working: [] })
    expect(harness.state(run)).toBe('cancelled')
    await harness.ledger.close()
  })
})

describe('a pause of one agent', () => {
  it('a pause of one agent is its own: the fleet’s end does not end it, and the other way round the answer says so', () => {
    const harness = aPausedHarness()
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    expect(() => harness.pauses.resume(person, null)).toThrow(/the fleet is not paused/)
    harness.pauses.pause(person, whole)
    expect(() => harness.pauses.resume(person, 'x')).toThrow(/the whole fleet is paused/)
    expect(harness.pauses.resume(person, null)).toMatchObject({ still_paused: ['w'] })
    expect(harness.pauses.reasonFor('x')).toBeNull()
    expect(harness.pauses.reasonFor('w')).not.toBeNull()
  })

  it('a pause of an unknown agent is refused, and a deleted agent leaves no pause', () => {
    const harness = aPausedHarness()
    expect(() => harness.pauses.pause(person, { ...whole, agentId: 'nobody' })).toThrow(/no agent nobody/)
    harness.pauses.pause(person, { ...whole, agentId: 'w' })
    harness.pauses.forget('w')
    expect(harness.pauses.view()).toEqual([])
  })
})
