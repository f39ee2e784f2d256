import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../testing/ledger-harness.ts'
import { turnMaxMs } from './lifecycle/expire-runs.ts'
import { silenceMaxMs } from './lifecycle/run-pulses.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((harness) => harness.ledger.close()))
})

async function aStartedHarness(options: LedgerHarnessOptions = {}): Promise<LedgerHarness> {
  const harness = aLedgerHarness(options)
  opened.push(harness)
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('submitting', () => {
  test('a run is a row before anything happens', () => {
    const harness = aLedgerHarness()
    const run = harness.chat('operator')
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'queued',
      attempt: 1,
      origin: { kind: 'human', channel: 'cli' },
    })
  })

  test('the same idempotency key gives the same run, fifty times over', async () => {
    const harness = await aStartedHarness()
    const runs = await Promise.all(
      Array.from({ length: 50 }, async () => harness.chat('operator', 'once', 'key-1')),
    )
    expect(new Set(runs.map((run) => run.id)).size).toBe(1)
    expect(harness.ledger.queries.list({ limit: 100 })).toHaveLength(1)
  })

  test('another caller with the same key gets a run of its own', () => {
    const harness = aLedgerHarness()
    const mine = harness.chat('operator', 'hello', 'key-1')
    const other = harness.ledger.queue.submitRun(
      { kind: 'human', role: 'owner', channel: 'dashboard' },
      { agentId: 'operator', input: mine.input, idempotencyKey: 'key-1' },
    )
    expect(other.id).not.toBe(mine.id)
  })

  test('a key that was used for something else is a conflict', () => {
    const harness = aLedgerHarness()
    harness.chat('operator', 'hello', 'key-1')
    expect(codeOf(() => harness.chat('operator', 'other', 'key-1'))).toBe('conflict')
  })

  test('a full lane refuses and says when to come again', () => {
    const harness = aLedgerHarness()
    for (let count = 0; count < wireLimits.laneQueueMax; count++) harness.chat('operator')
    expect(() => harness.chat('operator')).toThrow(
      expect.objectContaining({ code: 'lane-full', retryAfterSeconds: 30 }),
    )
    expect(codeOf(() => harness.chat('worker'))).toBe('no problem')
  })

  test('an agent that does not exist is refused', () => {
    expect(codeOf(() => aLedgerHarness().chat('nobody'))).toBe('unknown-agent')
  })
})

describe('a turn', () => {
  test('a chat ends with the answer of the agent, and its asker is told once', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    expect(harness.agents.sent).toEqual([
      { agentId: 'operator', runId: run.id, fence: 1, kind: 'chat', message: 'hello' },
    ])
    harness.agents.finish('operator', { response: 'four' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome).toEqual({ status: 'done', text: 'four' })
    expect(harness.ledger.delivery.outbox.ofRun(run.id)).toMatchObject([
      { recipient: 'human:cli', state: 'pending' },
    ])
  })

  test('a tool call ends with its structured result', async () => {
    verifies('resources:task-result:structured-output')
    const harness = await aStartedHarness()
    const input = { kind: 'tool', tool: 'list_files', params: {} } as const
    const run = harness.ledger.queue.submitRun(person, { agentId: 'worker', input })
    await harness.clock.settle()
    harness.agents.finish('worker', { result: ['a', 'b'], response: '' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome).toEqual({
      status: 'done',
      text: '',
      result: ['a', 'b'],
    })
  })

  test('a failed turn keeps the code that the agent gave', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    const error = { code: 'rounds-exhausted', detail: 'no rounds left' }
    harness.agents.finish('operator', { status: 'failed', response: '', error })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome).toEqual({
      status: 'failed',
      text: 'no rounds left',
      code: 'rounds-exhausted',
    })
  })

  test('one agent runs one run at a time, two agents run side by side', async () => {
    const harness = await aStartedHarness()
    const runs = [harness.chat('operator'), harness.chat('operator'), harness.chat('worker')]
    await harness.clock.settle()
    expect(runs.map(harness.state)).toEqual(['running', 'queued', 'running'])
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(runs.map(harness.state)).toEqual(['done', 'running', 'running'])
  })

  test('a stream that breaks is followed to its end by asking for the result', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.breakStreams('operator')
    await harness.clock.advance(3000)
    expect(harness.state(run)).toBe('running')
    harness.agents.finish('operator')
    await harness.clock.advance(3000)
    expect(harness.state(run)).toBe('done')
    expect(harness.agents.sent).toHaveLength(1)
  })

  test('an end under another fence is none', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.finish('operator', { fence: 7, response: 'forged' })
    await harness.clock.advance(20_000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2, outcome: null })
  })

  test('what the agent promotes is written by it, before the run ends', async () => {
    verifies('resources:task-result:promotions')
    const promoted: unknown[] = []
    const harness: LedgerHarness = await aStartedHarness({})
    harness.hooks.entriesPromoted.subscribe(({ runId, agentId, entries }) => {
      promoted.push([runId, agentId, entries, harness.state(run)])
    })
    const run = harness.chat('worker')
    await harness.clock.settle()
    harness.agents.finish('worker', { promote_to_blackboard: { total: 4 } })
    await harness.clock.settle()
    expect(promoted).toEqual([[run.id, 'worker', { total: 4 }, 'running']])
  })

  test('the mesh counts cost and tokens, and does not believe the agent', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.ledger.lifecycle.addRunCost(run.id, 0.25, 100)
    harness.ledger.lifecycle.addRunCost(run.id, 0.5, 20)
    harness.agents.finish('operator', { cost_usd: 99, tokens_used: 9999 })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ costUsd: 0.75, tokensUsed: 120 })
  })

  test('counts tokens no further than a number that can be read again', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    for (const tokens of [Number.MAX_SAFE_INTEGER, 2 ** 57])
      harness.ledger.lifecycle.addRunCost(run.id, 0, tokens)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ tokensUsed: Number.MAX_SAFE_INTEGER })
  })
})

describe('a lost agent', () => {
  test('three attempts, then interrupted', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    for (let attempt = 1; attempt <= 3; attempt++) {
      await harness.clock.advance(10_000)
      expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt })
      harness.agents.die('operator')
    }
    await harness.clock.advance(10_000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'failed',
      outcome: { code: 'interrupted' },
    })
    expect(new Set(harness.agents.sent.map((sending) => sending.fence)).size).toBe(3)
  })

  test('an agent that is stopped in mid-run does not cancel the run by saying so', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    const error = { code: 'cancelled', detail: 'The run was stopped: stopping.' }
    harness.agents.finish('operator', { status: 'cancelled', error })
    await harness.clock.advance(5000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2 })
  })

  test('an agent that cannot be started uses up the attempts', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('agent-unavailable', { detail: 'no image' })
    const run = harness.chat('operator')
    await harness.clock.advance(30_000)
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({ code: 'interrupted' })
    expect(harness.ledger.queries.find(run.id)?.outcome?.text).toContain('no image')
  })

  test('an agent without a model ends the run at once, with the repair', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('not-configured', { detail: 'set default_model' })
    const run = harness.chat('operator')
    await harness.clock.advance(1)
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({
      status: 'failed',
      code: 'not-configured',
      text: 'set default_model',
    })
  })

  test('a run of an agent that is archived meanwhile ends at once and says so', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('agent-archived', { detail: 'agent operator is archived' })
    const run = harness.chat('operator')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'failed',
      outcome: { code: 'agent-archived' },
    })
  })

  test('a paused fleet holds a run back without using an attempt, and it expires like any other', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('fleet-paused')
    const run = harness.chat('operator')
    await harness.clock.advance(100_000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'queued', attempt: 1 })
    harness.agents.startFault = null
    await harness.clock.advance(20_000)
    expect(harness.state(run)).toBe('running')
  })

  test('a dead lease ends nothing while the agent still works under that fence', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    for (let turns = 0; turns < 4; turns++) {
      await harness.clock.advance(wireLimits.leaseMs + 10_000)
      harness.heartbeat()
    }
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1, fence: 1 })
    expect(harness.agents.givenUp).toEqual([])
    expect(new Set(harness.agents.sent.map((sending) => sending.fence))).toEqual(new Set([1]))
    harness.agents.finish('operator')
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('done')
  })

  test('an agent whose loop is silent is ended with the reason, though its server says that it works', async () => {
    heedsLesson(93)
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.advance(silenceMaxMs - 5000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1 })
    await harness.clock.advance(20_000)
    expect(harness.agents.givenUp).toEqual([
      { agentId: 'operator', reason: expect.stringContaining('no sign of life for 120 s') as string },
    ])
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2 })
    harness.agents.finish('operator')
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('done')
  })

  test('calls of its programs hold the lease of a run, and do not speak for its loop', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    for (let ms = 0; ms < silenceMaxMs + 10_000; ms += 10_000) {
      await harness.clock.advance(10_000)
      if (harness.ledger.queries.find(run.id)?.fence === 1 && harness.state(run) === 'running') {
        harness.ledger.lifecycle.lease.renew({ runId: run.id, fence: 1 })
      }
    }
    expect(harness.agents.givenUp).toHaveLength(1)
  })

  test('a tool that works for an hour ends nothing while the loop sends heartbeats', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    for (let ms = 0; ms < 3600_000; ms += 15_000) {
      await harness.clock.advance(15_000)
      harness.heartbeat()
    }
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1, fence: 1 })
    expect(harness.agents.givenUp).toEqual([])
  })

  test('a dead lease of an agent that answers nobody interrupts the run', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.hang('operator', true)
    await harness.clock.advance(wireLimits.leaseMs - 5000)
    expect(harness.state(run)).toBe('running')
    await harness.clock.advance(8000)
    expect(harness.ledger.queries.find(run.id)?.attempt).toBe(2)
    // The next attempt would wait on the same process.
    expect(harness.agents.givenUp).toEqual([{ agentId: 'operator', reason: 'its agent does not answer' }])
  })

  test('an agent that answers nobody is ended also by a mesh that was late to look', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.hang('operator', true)
    await harness.clock.advance(10_000)
    await harness.clock.leap(20_000)
    await harness.clock.advance(wireLimits.leaseMs - 27_000)
    expect(harness.ledger.queries.find(run.id)?.attempt).toBe(2)
    expect(harness.agents.givenUp).toEqual([{ agentId: 'operator', reason: 'its agent does not answer' }])
  })

  test('an engine that does not answer is waited for', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.engineFault = new Error('socket closed')
    for (let beats = 0; beats < 8; beats++) {
      await harness.clock.advance(15_000)
      harness.heartbeat()
    }
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1 })
    harness.agents.engineFault = null
    await harness.clock.advance(2000)
    harness.agents.finish('operator')
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('done')
  })

  test('a renewed lease lives on; a stale fence is refused', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.advance(20_000)
    const until = harness.ledger.lifecycle.lease.renew({ runId: run.id, fence: 1 })
    expect(until).toBe(harness.clock.now() + wireLimits.leaseMs)
    expect(harness.ledger.lifecycle.live.ticketOf(run.id, 1)).toMatchObject({
      runId: run.id,
      agentId: 'operator',
    })
    expect(codeOf(() => harness.ledger.lifecycle.lease.renew({ runId: run.id, fence: 0 }))).toBe(
      'stale-fence',
    )
    expect(codeOf(() => harness.ledger.lifecycle.live.ticketOf(run.id, 2))).toBe('stale-fence')
    expect(codeOf(() => harness.ledger.lifecycle.live.ticketOf('run_none', 1))).toBe('stale-fence')
  })

  test('a turn that never ends is ended, and with it the agent that kept no limit', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.leap(turnMaxMs + 1)
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({ code: 'upstream-timeout' })
    expect(harness.agents.givenUp).toEqual([
      { agentId: 'operator', reason: `its work went on for ${turnMaxMs / 1000} s, beyond its own limit` },
    ])
  })
})

describe('a mesh that starts again', () => {
  test('attaches to a run that is still worked on, under the same fence', async () => {
    const before = await aStartedHarness()
    const run = before.chat('operator')
    await before.clock.settle()
    const harness = await before.restarted()
    opened.push(harness)
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.agents.sent.map((sending) => sending.fence)).toEqual([1, 1])
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'done', attempt: 1 })
  })

  test('settles a run that was finished meanwhile', async () => {
    const before = await aStartedHarness()
    const run = before.chat('operator')
    await before.clock.settle()
    await before.ledger.close()
    before.agents.finish('operator', { response: 'while you were away' })
    const harness = await before.restarted()
    opened.push(harness)
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome?.text).toBe('while you were away')
  })

  test('starts a run again whose agent is gone, and the queued ones after it', async () => {
    heedsLesson(49)
    const before = await aStartedHarness()
    const runs = Array.from({ length: 10 }, () => before.chat('operator'))
    await before.clock.settle()
    await before.ledger.close()
    before.agents.die('operator')
    const harness = await before.restarted()
    opened.push(harness)
    harness.ledger.start()
    for (let count = 0; count < 12; count++) {
      await harness.clock.advance(3000)
      harness.agents.finish('operator')
    }
    await harness.clock.advance(3000)
    expect(runs.map(harness.state)).toEqual(runs.map(() => 'done'))
  })
})

describe('time limits', () => {
  test('a run queued for 24 hours expires and its asker is told', async () => {
    const harness = aLedgerHarness()
    const run = harness.chat('operator')
    await harness.clock.leap(wireLimits.queuedMaxMs - 1)
    opened.push(harness)
    harness.agents.startFault = new Problem('fleet-paused')
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.state(run)).toBe('queued')
    await harness.clock.advance(2000)
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({ status: 'expired', code: 'expired' })
    expect(harness.ledger.delivery.outbox.ofRun(run.id)).toHaveLength(1)
    expect(harness.agents.sent).toEqual([])
  })
})

describe('cancelling', () => {
  test('a queued run is cancelled at once; cancelling again changes nothing', async () => {
    const harness = aLedgerHarness()
    const run = harness.chat('operator')
    expect(harness.ledger.lifecycle.cancelRun(person, run.id).state).toBe('cancelled')
    const again = harness.ledger.lifecycle.cancelRun(person, run.id)
    expect(again).toEqual(harness.ledger.queries.find(run.id))
    expect(harness.ledger.delivery.outbox.ofRun(run.id)).toHaveLength(1)
  })

  test('a running run is cancelled, its agent is told before the lane goes on', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    const next = harness.chat('operator')
    await harness.clock.settle()
    harness.ledger.lifecycle.cancelRun(person, run.id)
    await harness.clock.settle()
    expect(harness.agents.cancelled).toEqual([run.id])
    expect([run, next].map(harness.state)).toEqual(['cancelled', 'running'])
  })

  test('a run that is cancelled while its agent starts is never sent', async () => {
    const harness = await aStartedHarness()
    const { ensureRunning } = harness.agents
    let open = () => {}
    harness.agents.ensureRunning = async (agentId, signal) => {
      await new Promise<void>((resolve) => {
        open = resolve
      })
      return ensureRunning(agentId, signal)
    }
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.ledger.lifecycle.cancelRun(person, run.id)
    open()
    await harness.clock.settle()
    expect(harness.state(run)).toBe('cancelled')
    expect(harness.agents.sent).toEqual([])
  })

  test('ends what is open below it, however much below it has ended before', () => {
    const harness = aLedgerHarness()
    const parent = harness.chat('operator')
    const below = () =>
      harness.ledger.queue.submitRun(
        { kind: 'system' },
        { agentId: 'worker', input: { kind: 'chat', message: 'help', session: 'main' }, parent },
      )
    for (let ended = 0; ended < 1001; ended++) harness.ledger.lifecycle.cancelRun(person, below().id)
    const last = below()
    harness.ledger.lifecycle.cancelRun(person, parent.id)
    expect(harness.state(last)).toBe('cancelled')
  })

  test('a run that has ended cannot be cancelled', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(codeOf(() => harness.ledger.lifecycle.cancelRun(person, run.id))).toBe('conflict')
    expect(codeOf(() => harness.ledger.lifecycle.cancelRun(person, 'run_none'))).toBe('not-found')
  })
})
