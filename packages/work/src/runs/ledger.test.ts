import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../../../testing/src/ledger-harness.ts'
import { turnMaxMs } from './dispatch/expire-runs.ts'
import { silenceMaxMs } from './dispatch/run-pulses.ts'
import { runLimits } from './run-limits.ts'

async function aStartedHarness(options: LedgerHarnessOptions = {}): Promise<LedgerHarness> {
  const harness = aLedgerHarness(options)
  onTestFinished(() => harness.ledger.close())
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
  test('a submitted run is persisted before anything happens', () => {
    const harness = aLedgerHarness()
    const run = harness.chat('operator')
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'queued',
      attempt: 1,
      origin: { kind: 'human', channel: 'cli' },
    })
  })

  test('fifty submissions with the same idempotency key return the same run', async () => {
    const harness = await aStartedHarness()
    const runs = await Promise.all(
      Array.from({ length: 50 }, async () => harness.chat('operator', 'once', 'key-1')),
    )
    expect(new Set(runs.map((run) => run.id)).size).toBe(1)
    expect(harness.ledger.queries.list({ limit: 100 })).toHaveLength(1)
  })

  test('another caller with the same idempotency key gets its own run', () => {
    const harness = aLedgerHarness()
    const mine = harness.chat('operator', 'hello', 'key-1')
    const other = harness.ledger.queue.submitRun(
      { kind: 'human', role: 'owner', channel: 'dashboard' },
      { agentId: 'operator', input: mine.input, idempotencyKey: 'key-1' },
    )
    expect(other.id).not.toBe(mine.id)
  })

  test('reusing an idempotency key for a different request is a conflict', () => {
    const harness = aLedgerHarness()
    harness.chat('operator', 'hello', 'key-1')
    expect(codeOf(() => harness.chat('operator', 'other', 'key-1'))).toBe('conflict')
  })

  test('a full lane rejects a run and says when to retry', () => {
    const harness = aLedgerHarness()
    for (let count = 0; count < runLimits.laneQueueMax; count++) harness.chat('operator')
    expect(() => harness.chat('operator')).toThrow(
      expect.objectContaining({ code: 'lane-full', retryAfterSeconds: 30 }),
    )
    expect(codeOf(() => harness.chat('worker'))).toBe('no problem')
  })

  test('a run for an unknown agent is rejected', () => {
    expect(codeOf(() => aLedgerHarness().chat('nobody'))).toBe('unknown-agent')
  })
})

describe('a turn', () => {
  test("a chat ends with the agent's answer, and its caller is notified once", async () => {
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

  test('a failed turn keeps the problem code that the agent reported', async () => {
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

  test('after a broken stream the mesh polls for the result', async () => {
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

  test('an end under an old fencing token is ignored', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.finish('operator', { fence: 7, response: 'forged' })
    await harness.clock.advance(20_000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2, outcome: null })
  })

  test('entries that the agent promotes are written before the run ends', async () => {
    verifies('resources:task-result:promotions')
    const promoted: unknown[] = []
    const harness: LedgerHarness = await aStartedHarness({})
    harness.workEvents.entriesPromoted.subscribe(({ runId, agentId, entries }) => {
      promoted.push([runId, agentId, entries, harness.state(run)])
    })
    const run = harness.chat('worker')
    await harness.clock.settle()
    harness.agents.finish('worker', { promote_to_blackboard: { total: 4 } })
    await harness.clock.settle()
    expect(promoted).toEqual([[run.id, 'worker', { total: 4 }, 'running']])
  })

  test('entries of a turn that the disk refuses are written before its outcome is', async () => {
    const harness = await aStartedHarness()
    const promoted: unknown[] = []
    let refusals = 2
    harness.workEvents.entriesPromoted.subscribe(({ runId, entries }) => {
      if (refusals-- > 0) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
      promoted.push([entries, harness.ledger.queries.find(runId)?.state])
    })
    const run = harness.chat('worker')
    await harness.clock.settle()
    harness.agents.finish('worker', { promote_to_blackboard: { total: 4 } })
    for (let second = 0; second < 10; second++) await harness.clock.advance(1000)
    expect(promoted).toEqual([[{ total: 4 }, 'running']])
    expect(harness.ledger.queries.find(run.id)?.state).toBe('done')
  })

  test('the mesh counts cost and tokens itself instead of trusting the agent', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.ledger.lifecycle.addRunCost(run.id, { costUsd: 0.25, tokens: 100 })
    harness.ledger.lifecycle.addRunCost(run.id, { costUsd: 0.5, tokens: 20 })
    harness.agents.finish('operator', { cost_usd: 99, tokens_used: 9999 })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ costUsd: 0.75, tokensUsed: 120 })
  })

  test('the token count stops at the largest number that can be read back', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    for (const tokens of [Number.MAX_SAFE_INTEGER, 2 ** 57])
      harness.ledger.lifecycle.addRunCost(run.id, { costUsd: 0, tokens })
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ tokensUsed: Number.MAX_SAFE_INTEGER })
  })
})

describe('a lost agent', () => {
  test('a run ends as interrupted after three attempts', async () => {
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

  test('an agent that is stopped in mid-run cannot cancel the run by reporting it as cancelled', async () => {
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

  test('a run of an agent without a model ends at once, with the repair', async () => {
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

  test('a run ends at once with a reason when its agent is archived meanwhile', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('agent-archived', { detail: 'agent operator is archived' })
    const run = harness.chat('operator')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'failed',
      outcome: { code: 'agent-archived' },
    })
  })

  test('a paused fleet delays a run without using an attempt, and the run expires like any other', async () => {
    const harness = await aStartedHarness()
    harness.agents.startFault = new Problem('fleet-paused')
    const run = harness.chat('operator')
    await harness.clock.advance(100_000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'queued', attempt: 1 })
    harness.agents.startFault = null
    await harness.clock.advance(20_000)
    expect(harness.state(run)).toBe('running')
  })

  test('an expired lease ends nothing while the agent still works under that fencing token', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    for (let turns = 0; turns < 4; turns++) {
      await harness.clock.advance(runLimits.leaseMs + 10_000)
      harness.heartbeat()
    }
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1, fence: 1 })
    expect(harness.agents.givenUp).toEqual([])
    expect(new Set(harness.agents.sent.map((sending) => sending.fence))).toEqual(new Set([1]))
    harness.agents.finish('operator')
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('done')
  })

  test('an agent whose loop is silent is terminated with a reason, although its server reports that it works', async () => {
    heedsLesson(93)
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.advance(silenceMaxMs - 5000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 1 })
    await harness.clock.advance(20_000)
    expect(harness.agents.givenUp).toEqual([
      { agentId: 'operator', reason: expect.stringContaining('no progress of the run for 120 s') as string },
    ])
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2 })
    harness.agents.finish('operator')
    await harness.clock.advance(2000)
    expect(harness.state(run)).toBe('done')
  })

  test('calls of programs renew the lease of a run but do not count as heartbeats of the loop', async () => {
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

  test('a tool that works for an hour is not interrupted while the loop sends heartbeats', async () => {
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

  test('an expired lease of an unresponsive agent interrupts the run', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.hang('operator', true)
    await harness.clock.advance(runLimits.leaseMs - 5000)
    expect(harness.state(run)).toBe('running')
    await harness.clock.advance(8000)
    expect(harness.ledger.queries.find(run.id)?.attempt).toBe(2)
    // The next attempt would wait for the same process.
    expect(harness.agents.givenUp).toEqual([{ agentId: 'operator', reason: 'the agent does not answer' }])
  })

  test('an unresponsive agent is terminated also by a mesh that checked late', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.hang('operator', true)
    await harness.clock.advance(10_000)
    await harness.clock.leap(20_000)
    await harness.clock.advance(runLimits.leaseMs - 27_000)
    expect(harness.ledger.queries.find(run.id)?.attempt).toBe(2)
    expect(harness.agents.givenUp).toEqual([{ agentId: 'operator', reason: 'the agent does not answer' }])
  })

  test('the mesh waits for an engine that does not answer', async () => {
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

  test('a renewed lease stays valid, and a stale fencing token is rejected', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.advance(20_000)
    const until = harness.ledger.lifecycle.lease.renew({ runId: run.id, fence: 1 })
    expect(until).toBe(harness.clock.now() + runLimits.leaseMs)
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

  test('a turn that never ends is terminated together with its agent', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    await harness.clock.settle()
    await harness.clock.leap(turnMaxMs + 1)
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({ code: 'upstream-timeout' })
    expect(harness.agents.givenUp).toEqual([
      {
        agentId: 'operator',
        reason: `the agent worked on one turn for ${turnMaxMs / 1000} s, longer than its limit`,
      },
    ])
  })
})

describe('a mesh that starts again', () => {
  test('a restarted mesh attaches to a run that is still executing, under the same fencing token', async () => {
    const before = await aStartedHarness()
    const run = before.chat('operator')
    await before.clock.settle()
    const harness = await before.restarted()
    onTestFinished(() => harness.ledger.close())
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.agents.sent.map((sending) => sending.fence)).toEqual([1, 1])
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'done', attempt: 1 })
  })

  test('a restarted mesh settles a run that finished meanwhile', async () => {
    const before = await aStartedHarness()
    const run = before.chat('operator')
    await before.clock.settle()
    await before.ledger.close()
    before.agents.finish('operator', { response: 'while you were away' })
    const harness = await before.restarted()
    onTestFinished(() => harness.ledger.close())
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome?.text).toBe('while you were away')
  })

  test('a restarted mesh restarts a run whose agent has disappeared, and then the queued ones', async () => {
    heedsLesson(49)
    const before = await aStartedHarness()
    const runs = Array.from({ length: 10 }, () => before.chat('operator'))
    await before.clock.settle()
    await before.ledger.close()
    before.agents.die('operator')
    const harness = await before.restarted()
    onTestFinished(() => harness.ledger.close())
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
  test('a run that was queued for 24 hours expires and its caller is notified', async () => {
    const harness = aLedgerHarness()
    const run = harness.chat('operator')
    await harness.clock.leap(runLimits.queuedMaxMs - 1)
    onTestFinished(() => harness.ledger.close())
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

  test('cancelling a running run notifies its agent before the lane continues', async () => {
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

  test('cancelling a run ends all its open descendants, even below ones that have ended', () => {
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

  test('the open calls of a cancelled run count as unconfirmed until they are booked', async () => {
    const harness = await aStartedHarness()
    const run = harness.chat('operator')
    const open = [{ tokens: 900, usd: 0.02 }]
    harness.workEvents.openUsageOfRun.subscribe((id) => (id === run.id ? open : []))
    const view = () => harness.ledger.queries.view(harness.ledger.queries.find(run.id)!)
    expect(view()).toMatchObject({ tokens_used: 0, unconfirmed_tokens: 0 })
    harness.ledger.lifecycle.cancelRun(person, run.id)
    expect(view()).toMatchObject({
      tokens_used: 900,
      cost_usd: 0.02,
      unconfirmed_tokens: 900,
      unconfirmed_usd: 0.02,
    })
    open.pop()
    expect(view()).toMatchObject({ tokens_used: 0, cost_usd: 0 })
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
