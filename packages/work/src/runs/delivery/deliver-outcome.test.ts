import { describe, expect, onTestFinished, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aLedgerHarness, person } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'

async function aStartedHarness(): Promise<LedgerHarness> {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

const never = new AbortController().signal

async function read(harness: LedgerHarness, runId: string, into: ChatStreamFrame[]): Promise<void> {
  for await (const frame of harness.ledger.delivery.outcomes.follow(runId, never)) into.push(frame)
}

async function ended(harness: LedgerHarness, runId: string, signal: AbortSignal) {
  for await (const frame of harness.ledger.delivery.outcomes.follow(runId, signal))
    if (frame.type === 'ended') return frame.run
  throw new Error('it has no end')
}

describe('a subscriber of a run', () => {
  test('a subscriber of a run is notified when its agent fails, and not about other agents', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    const frames: ChatStreamFrame[] = []
    const reading = read(harness, run.id, frames)
    await harness.clock.settle()
    const changed = { type: 'agent.changed', from: 'running', reason: 'it was killed' } as const
    harness.events.publish({ ...changed, agent_id: 'operator', to: 'quarantined' })
    harness.events.publish({ ...changed, agent_id: 'operator', to: 'running' })
    harness.events.publish({ ...changed, agent_id: 'stranger', to: 'quarantined' })
    harness.agents.finish('operator', { response: 'the end' })
    await reading
    const told = frames.flatMap((frame) => (frame.type === 'event' ? [frame.event] : []))
    expect(told.filter(({ type }) => type === 'agent.changed')).toEqual([
      { ...changed, agent_id: 'operator', to: 'quarantined' },
    ])
  })

  test('a subscriber gets events of the run and its descendants, then the outcome, and counts as notified when it confirms', async () => {
    heedsLesson(53)
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    const other = harness.chat('stranger')
    const frames: ChatStreamFrame[] = []
    const reading = read(harness, run.id, frames)
    await harness.clock.settle()
    harness.agents.say('operator', { type: 'text_delta', content: 'let me see' })
    const given = harness.handOff(harness.callerOf('operator'), {
      to: 'worker',
      title: 'w',
      description: '',
      data: {},
    })
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    const done = { taskId: given.task_id, status: 'done', summary: 's', result: null } as const
    harness.completeTask(harness.callerOf('worker'), done)
    await harness.clock.settle()
    harness.agents.say('operator', { type: 'tool_start', step: 1, name: 'read_file', input: { path: 'a' } })
    harness.agents.say('operator', { type: 'tool_result', step: 1, name: 'read_file', output: 'b', ok: true })
    harness.agents.finish('operator', { response: 'the end' })
    await reading

    const told = frames.flatMap((frame) => (frame.type === 'event' ? [frame.event] : []))
    const states = told.flatMap((event) =>
      event.type === 'run.changed' && event.run_id === run.id ? [event.state] : [],
    )
    expect(states).toEqual(['running', 'waiting', 'queued', 'running', 'done'])
    expect(told.some((event) => event.type === 'run.changed' && event.run_id === given.run_id)).toBe(true)
    expect(told.map((event) => event.type)).toEqual(
      expect.arrayContaining(['text.streamed', 'tool.started', 'tool.ended']),
    )
    expect(JSON.stringify(told)).not.toContain(other.id)
    expect(frames.at(-1)).toMatchObject({ type: 'ended', run: { outcome: { text: 'the end' } } })
    const note = () =>
      harness.ledger.delivery.outbox.ofRun(run.id).find(({ recipient }) => recipient === 'human:cli')
    expect(note()?.state).toBe('pending')
    harness.ledger.delivery.outcomes.read(person, run.id)
    expect(note()?.state).toBe('delivered')
  })

  test('a late subscriber gets the outcome at once, and the undeliverable notification counts as delivered', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.finish('operator', { response: 'four' })
    await harness.clock.advance(700_000)
    expect(harness.ledger.delivery.outbox.open(10)).toMatchObject([
      { run_id: run.id, state: 'undeliverable' },
    ])
    expect((await ended(harness, run.id, never)).outcome?.text).toBe('four')
    expect(harness.ledger.delivery.outbox.open(10)).toHaveLength(1)
    harness.ledger.delivery.outcomes.read(person, run.id)
    expect(harness.ledger.delivery.outbox.open(10)).toEqual([])
  })

  test('a subscriber that disconnects before the end does not count as notified', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    const hangUp = new AbortController()
    const waiting = ended(harness, run.id, hangUp.signal)
    hangUp.abort(new Error('hung up'))
    await expect(waiting).rejects.toThrow('hung up')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.ledger.delivery.outbox.open(10)).toMatchObject([{ run_id: run.id, state: 'pending' }])
  })

  test('a subscriber cannot confirm an outcome that does not exist yet', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    expect(() => harness.ledger.delivery.outcomes.read(person, run.id)).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    )
    expect(() => harness.ledger.delivery.outcomes.read(person, 'run_none')).toThrow(
      expect.objectContaining({ code: 'not-found' }),
    )
  })

  test('subscribing to an unknown run is rejected', async () => {
    const harness = await aStartedHarness()
    await expect(ended(harness, 'run_none', never)).rejects.toMatchObject({ code: 'not-found' })
  })
})
