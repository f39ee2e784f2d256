import { describe, expect, it } from 'vitest'
import type { Caller } from '../../access/caller.ts'
import { aLedgerHarness, person } from '../../testing/ledger-harness.ts'
import { wireLimits } from '@flotilla/protocol/limits'
import { createPauses } from './pauses.ts'
import type { Pauses } from './pauses.ts'

const mesh: Caller = { kind: 'system' }

function aPausedHarness(before?: ReturnType<typeof aLedgerHarness>) {
  const held: { pauses: Pauses | null } = { pauses: null }
  const options = { pausedReason: (agentId: string) => held.pauses?.reasonFor(agentId) ?? null }
  const world = aLedgerHarness(
    before ? { ...options, database: before.database, clock: before.clock, agents: before.agents } : options,
  )
  const makers = new Map<string, string>()
  const pauses = createPauses({
    ...world,
    lanes: world.runs,
    agentIds: () => ['w', 'x', ...makers.keys()],
    makerOf: (agentId) => makers.get(agentId) ?? null,
  })
  held.pauses = pauses
  const trigger = (agentId: string, key: string, kind: 'cron' | 'webhook' = 'webhook') =>
    world.ledger.queue.submitRun(mesh, {
      agentId,
      input: { kind: 'chat', message: key, session: `hook:${key}` },
      idempotencyKey: key,
      trigger: kind,
    })
  return { ...world, pauses, trigger, makers }
}

const whole = { agentId: null, reason: 'moving house', now: false }

describe('while the fleet is paused', () => {
  it('what a trigger begins waits and people are served; resumed, each begins once, in its order', async () => {
    const world = aPausedHarness()
    world.ledger.start()
    world.pauses.pause(person, whole)
    const first = world.trigger('w', 'one')
    const second = world.trigger('w', 'two')
    const asked = world.chat('w')
    await world.clock.advance(5000)
    expect(world.agents.working('w')?.runId).toBe(asked.id)
    world.agents.finish('w', { response: 'done' })
    await world.clock.advance(5000)
    expect(world.agents.working('w')).toBeNull()
    expect([world.state(first), world.state(second)]).toEqual(['queued', 'queued'])
    expect(world.pauses.view()).toMatchObject([{ agent_id: null, held: 2, reason: 'moving house' }])

    expect(world.pauses.resume(person, null)).toMatchObject({ released: 2, still_paused: [] })
    await world.clock.advance(2000)
    expect(world.agents.working('w')?.runId).toBe(first.id)
    world.agents.finish('w', { response: 'done' })
    await world.clock.advance(2000)
    expect(world.agents.working('w')?.runId).toBe(second.id)
    await world.ledger.close()
  })

  it('what is held leaves people their room in the lane, however much of it comes', () => {
    const world = aPausedHarness()
    world.pauses.pause(person, whole)
    for (let count = 0; count < wireLimits.laneQueueMax; count++) world.trigger('w', `event ${count}`)
    expect(() => world.trigger('w', 'one more')).toThrow(expect.objectContaining({ code: 'lane-full' }))
    for (let count = 0; count < wireLimits.laneQueueMax; count++) world.chat('w')
    expect(() => world.chat('w')).toThrow(expect.objectContaining({ code: 'lane-full' }))
    expect(() => world.trigger('w', 'one more')).toThrow(expect.objectContaining({ code: 'lane-full' }))
  })

  it('what an agent made is held with it, and what that made, and nothing else', async () => {
    const world = aPausedHarness()
    world.makers.set('spawn_1', 'w').set('spawn_2', 'spawn_1').set('spawn_3', 'x')
    world.ledger.start()
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    const held = [world.trigger('spawn_1', 'one'), world.trigger('spawn_2', 'two')]
    const free = world.trigger('spawn_3', 'three')
    await world.clock.advance(2000)
    expect([...held, free].map(world.state)).toEqual(['queued', 'queued', 'running'])
    expect(world.pauses.view()).toMatchObject([{ agent_id: 'w', held: 2 }])
    expect(world.pauses.resume(person, 'w')).toMatchObject({ released: 2, still_paused: [] })
    await world.clock.advance(2000)
    expect(held.map(world.state)).toEqual(['running', 'running'])
    expect(world.pauses.pause(person, { ...whole, agentId: 'spawn_1', now: true })).toMatchObject({
      working: [],
    })
    expect(held.map(world.state)).toEqual(['cancelled', 'cancelled'])
    expect(world.state(free)).toBe('running')
    await world.ledger.close()
  })

  it('what an agent made stays held while its own pause stands', () => {
    const world = aPausedHarness()
    world.makers.set('spawn_1', 'w')
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    world.pauses.pause(person, { ...whole, agentId: 'spawn_1', reason: 'its own' })
    expect(world.pauses.resume(person, 'w').still_paused).toEqual(['spawn_1'])
    expect(world.pauses.reasonFor('spawn_1')).toBe('its own')
    expect(world.pauses.reasonFor('w')).toBeNull()
  })

  it('a pause outlives the mesh', async () => {
    const before = aPausedHarness()
    before.pauses.pause(person, { ...whole, agentId: 'w' })
    const after = aPausedHarness(before)
    expect(after.pauses.reasonFor('w')).toBe('moving house')
    expect(after.pauses.reasonFor('x')).toBeNull()
  })

  it('what waits for its end does not expire, and has its whole time after it', async () => {
    const world = aPausedHarness()
    world.ledger.start()
    world.pauses.pause(person, whole)
    const run = world.trigger('w', 'one')
    await world.clock.leap(wireLimits.queuedMaxMs * 2)
    await world.clock.advance(2000)
    expect(world.state(run)).toBe('queued')
    world.pauses.resume(person, null)
    await world.clock.advance(2000)
    expect(world.state(run)).toBe('running')
    await world.ledger.close()
  })

  it('work that comes of a trigger is held too, and work that comes of a person is not', async () => {
    const world = aPausedHarness()
    world.ledger.start()
    const cause = world.trigger('w', 'one', 'cron')
    await world.clock.advance(2000)
    world.pauses.pause(person, whole)
    const order = { to: 'x', title: 'do', description: 'this', data: {} }
    const held = world.handOff(world.callerOf('w'), { ...order, idempotencyKey: 'a' })
    expect(world.ledger.queries.find(cause.id)?.proactive).toBe(true)
    expect(world.ledger.queue.proactiveOf('x').map((run) => run.taskId)).toEqual([held.task_id])
    world.agents.finish('w', { response: 'done' })
    await world.clock.advance(5000)
    expect(world.agents.working('x')).toBeNull()
    const asked = world.chat('w')
    await world.clock.advance(2000)
    expect(world.ledger.lifecycle.live.liveRunOf('w')?.runId).toBe(asked.id)
    world.handOff(world.callerOf('w'), { ...order, idempotencyKey: 'b' })
    await world.clock.advance(2000)
    expect(world.agents.working('x')).not.toBeNull()
    await world.ledger.close()
  })

  it('runs at work go on, and are cancelled where the pause says now', async () => {
    const world = aPausedHarness()
    world.ledger.start()
    const run = world.trigger('w', 'one')
    await world.clock.advance(2000)
    expect(world.pauses.pause(person, whole)).toMatchObject({ working: [run.id] })
    expect(world.state(run)).toBe('running')
    expect(world.pauses.pause(person, { ...whole, now: true })).toMatchObject({ working: [] })
    expect(world.state(run)).toBe('cancelled')
    await world.ledger.close()
  })
})

describe('the end of a pause', () => {
  it('that could not be written down is none, and whoever asked is told', async () => {
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

  it('counts what it lets go, and not what another pause still holds', () => {
    const world = aPausedHarness()
    world.pauses.pause(person, whole)
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    world.trigger('w', 'one')
    world.trigger('x', 'two')
    world.trigger('x', 'three')
    expect(world.pauses.resume(person, 'w')).toMatchObject({ released: 0, still_paused: ['w'] })
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    expect(world.pauses.resume(person, null)).toMatchObject({ released: 2, still_paused: ['w'] })
    expect(world.pauses.resume(person, 'w')).toMatchObject({ released: 1, still_paused: [] })
  })
})

describe('a run that lost its agent and waits for its next attempt', () => {
  it('is at work and not held, and is cancelled where the pause says now', async () => {
    const world = aPausedHarness()
    world.ledger.start()
    const run = world.trigger('w', 'one')
    await world.clock.advance(2000)
    world.agents.die('w')
    for (let at = 0; at < 100 && world.state(run) !== 'queued'; at++) await world.clock.advance(100)
    expect(world.ledger.queries.find(run.id)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(world.pauses.pause(person, whole)).toMatchObject({ held: 0, working: [run.id] })
    expect(world.pauses.pause(person, { ...whole, now: true })).toMatchObject({ held: 0, working: [] })
    expect(world.state(run)).toBe('cancelled')
    await world.ledger.close()
  })
})

describe('a pause of one agent', () => {
  it('is its own: the fleet’s end does not end it, and the other way round the answer says so', () => {
    const world = aPausedHarness()
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    expect(() => world.pauses.resume(person, null)).toThrow(/the fleet is not paused/)
    world.pauses.pause(person, whole)
    expect(() => world.pauses.resume(person, 'x')).toThrow(/the whole fleet is paused/)
    expect(world.pauses.resume(person, null)).toMatchObject({ still_paused: ['w'] })
    expect(world.pauses.reasonFor('x')).toBeNull()
    expect(world.pauses.reasonFor('w')).not.toBeNull()
  })

  it('of nobody is refused, and one that is deleted leaves none behind', () => {
    const world = aPausedHarness()
    expect(() => world.pauses.pause(person, { ...whole, agentId: 'nobody' })).toThrow(/no agent nobody/)
    world.pauses.pause(person, { ...whole, agentId: 'w' })
    world.pauses.forget('w')
    expect(world.pauses.view()).toEqual([])
  })
})
