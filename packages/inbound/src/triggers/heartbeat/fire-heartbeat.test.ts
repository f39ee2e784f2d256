import { missingAgent } from '../../../../testing/src/missing-agent.ts'
import type { HeartbeatContext } from '@flotilla/protocol/agent-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { AgentConnection } from '../../../../fleet/src/agents/connection/agent-connection.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import { emptyTask } from '../../../../work/src/tasks/hand-off.ts'
import { createFireHeartbeat } from './fire-heartbeat.ts'
import type { FireHeartbeatDeps } from './fire-heartbeat.ts'
import { createHeartbeatTable } from './heartbeat-table.ts'
import { createKnownContexts } from './known-contexts.ts'
import { createOpenTasks } from './probes.ts'
import { createReadContext } from './read-context.ts'
import { runLimits } from '@flotilla/work/runs'

const calm: HeartbeatContext = {
  heartbeat_rules: 'the default',
  is_default_heartbeat: true,
  daily_logs: '',
  heartbeat_logs: '',
  has_recent_activity: false,
  disk_used_percent: 10,
}
const owner = { kind: 'human', role: 'owner', channel: 'cli' } as const
const due = { manual: false, jobId: 'job_1', dueAt: 1000 }

/** A real ledger and tables; the agent `scout` returns the values of `agent`. */
function aHarness(changes: Partial<FireHeartbeatDeps> = {}) {
  const ledger = aLedgerHarness()
  const agent = {
    context: calm,
    running: true,
    archived: false,
    metered: null as number | null,
    starts: 0,
    neverStarted: false,
    fault: null as Problem | null,
  }
  const table = createHeartbeatTable(ledger.database)
  const known = createKnownContexts({ table, isBusy: () => false, clock: ledger.clock })
  const line = (): AgentConnection => {
    const asked = {
      heartbeatContext: async () => {
        if (agent.fault) throw agent.fault
        return agent.context
      },
    }
    return asked as unknown as AgentConnection // nothing else of it is called here
  }
  const readContext = createReadContext({
    connections: {
      connectIfRunning: async () => (agent.running ? line() : null),
      stateOf: () => (agent.neverStarted ? 'new' : 'stopped'),
      reach: async (agentId) => {
        agent.starts += 1
        known.reached(agentId)
        agent.running = true
        return line()
      },
    },
    meteredPercent: async () => agent.metered,
    known,
    log: silentLog,
  })
  const fire = createFireHeartbeat({
    database: ledger.database,
    table,
    agentOf: (id) =>
      id === 'nobody'
        ? missingAgent(id)
        : {
            id,
            kind: 'worker',
            role: 'r',
            model: null,
            instructions: '',
            budget: { dailyUsd: 1, monthlyUsd: 1 },
            project: null,
            createdAt: 0,
          },
    isArchived: () => agent.archived,
    pausedReason: () => null,
    readContext,
    unreadSignals: () => ({ count: 0, newest: [] }),
    openTasks: createOpenTasks(ledger.taskTable),
    messages: { keptFor: () => ({ count: 0, oldest: [] }), deliverKept: () => {} },
    fleetFor: () => null,
    runs: ledger.runs,
    clock: ledger.clock,
    ...changes,
  })
  const end = (): void => {
    for (const { id } of ledger.ledger.queries.list({ limit: 100 }))
      ledger.ledger.lifecycle.cancelRun(owner, id)
  }
  return { ...ledger, agent, table, known, fire, end }
}

type Harness = ReturnType<typeof aHarness>
const runsOf = ({ ledger }: Harness) => ledger.queries.list({ limit: 100 })
const messageOf = (harness: Harness): string => {
  const input = runsOf(harness)[0]?.input
  return input?.kind === 'heartbeat' ? input.message : ''
}

describe("the fleet in the operator's heartbeat", () => {
  const fleet = (failed: boolean) => ({
    facts: {
      ada: { failed, archived: false, paused: false, money: 'room', longLane: false, failures: 0 } as const,
    },
    errorOf: () => 'no model',
  })

  test('the fleet is compared with the last heartbeat that ran, and a worse state makes it run', async () => {
    const now = { fleet: fleet(false) }
    const harness = aHarness({ fleetFor: () => now.fleet })
    // Nothing was reported before, so nothing is worse.
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'nothing-to-do' })
    harness.agent.context = { ...harness.agent.context, has_recent_activity: true }
    await harness.fire('scout', { ...due, dueAt: 2000 })
    expect(messageOf(harness)).not.toContain('fleet_changes')
    harness.end()
    harness.agent.context = { ...harness.agent.context, has_recent_activity: false }
    now.fleet = fleet(true)
    await harness.fire('scout', { ...due, dueAt: 3000 })
    expect(messageOf(harness)).toContain('- fleet_changes: 1 change in the fleet to look at.')
    harness.end()
    // It stays bad and was reported, so the operator is not started again.
    expect(await harness.fire('scout', { ...due, dueAt: 4000 })).toEqual({ skipped: 'nothing-to-do' })
  })
})

describe('messages that started no work', () => {
  const kept = {
    count: 2,
    oldest: [{ id: 'msg_1', from: 'ada', at: 0, text: sanitizeForPrompt('the disk is odd') }],
  }

  test('stored messages make a heartbeat run and are included in it once', async () => {
    const told: [readonly string[], string][] = []
    const harness = aHarness({
      messages: { keptFor: () => kept, deliverKept: (ids, runId) => void told.push([ids, runId]) },
    })
    const end = await harness.fire('scout', due)
    expect(told).toEqual([[['msg_1'], 'fired' in end ? end.fired.id : '']])
    expect(messageOf(harness)).toContain('- pending_messages: 2 messages of agents that began no work.')
    expect(messageOf(harness)).toContain('- message of ada, 1970-01-01T00:00: "the disk is odd"')
    expect(messageOf(harness)).toContain('- and 1 more messages, at your next heartbeat')
  })
})

describe('a due heartbeat', () => {
  test('a heartbeat with nothing to do is skipped and starts no run', async () => {
    verifies('states:heartbeat:skipped')
    const harness = aHarness()
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'nothing-to-do' })
    expect(runsOf(harness)).toEqual([])
    expect(harness.table.lastOf('scout')).toMatchObject({ skipped: 'nothing-to-do', manual: false })
    expect(harness.table.lastOf('scout')?.facts).toEqual({
      default_rules: true,
      recent_activity: false,
      disk_used_percent: 10,
      unread_signals: 0,
      open_tasks: 0,
      messages: 0,
      fleet_changes: 0,
      probes: [],
    })
  })

  test.each([
    ['rules of its own', { context: { ...calm, is_default_heartbeat: false } }],
    ['recent activity', { context: { ...calm, has_recent_activity: true } }],
    ['a full disk as measured by the agent', { context: { ...calm, disk_used_percent: 86 } }],
    ['a full disk as measured by the mesh', { metered: 99 }],
  ])('a heartbeat runs if there is %s', async (_, changes) => {
    verifies('states:heartbeat:runs')
    const harness = aHarness()
    Object.assign(harness.agent, changes)
    const end = await harness.fire('scout', due)
    expect(end).toMatchObject({
      fired: { kind: 'heartbeat', agentId: 'scout', origin: { kind: 'heartbeat' } },
    })
  })

  test('activity is what happened since the last heartbeat that started, and one message is one heartbeat', async () => {
    verifies('states:heartbeat:skipped', 'states:heartbeat:runs')
    const harness = aHarness()
    const work = async (work: () => unknown) => {
      await work()
      await harness.clock.advance(1000)
      harness.agents.finish('scout')
      await harness.clock.settle()
    }
    let dueAt = 0
    const beat = () => harness.fire('scout', { ...due, dueAt: (dueAt += 1000) })
    harness.ledger.start()
    await work(() => harness.chat('scout'))
    // The agent reports this for two days after an activity.
    harness.agent.context = { ...calm, has_recent_activity: true }
    await work(async () => expect(await beat()).toHaveProperty('fired'))
    for (let count = 0; count < 3; count += 1) expect(await beat()).toEqual({ skipped: 'nothing-to-do' })
    await work(() => harness.chat('scout'))
    await work(async () => expect(await beat()).toHaveProperty('fired'))
    expect(await beat()).toEqual({ skipped: 'nothing-to-do' })
    // Its end comes after the text of the heartbeat was written.
    harness.chat('scout')
    await harness.clock.advance(1000)
    const queued = await beat()
    await work(() => harness.clock.advance(1000))
    await work(() => expect(queued).toHaveProperty('fired'))
    expect(await beat()).toHaveProperty('fired')
    await harness.ledger.close()
  })

  test("a heartbeat uses the mesh's measurement of the disk, not the agent's", async () => {
    const harness = aHarness()
    harness.agent.metered = 12
    harness.agent.context = { ...calm, disk_used_percent: 99 }
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'nothing-to-do' })
  })

  test('a heartbeat runs if a signal is unread', async () => {
    const newest = [{ topic: 'news', text: 'wet', from: 'sea', at: 0 }]
    const harness = aHarness({ unreadSignals: () => ({ count: 1, newest }) })
    expect(await harness.fire('scout', due)).toHaveProperty('fired')
    expect(messageOf(harness)).toContain('"wet"')
  })

  test('a heartbeat runs if a hand-off is open', async () => {
    const harness = aHarness()
    harness.taskTable.insert({
      ...emptyTask,
      origin: { kind: 'system', channel: 'mesh' },
      id: 'task_1',
      creator: 'operator',
      assignee: 'scout',
      title: 'look there',
      description: '',
      data: {},
      state: 'blocked',
      parent_run_id: null,
      run_id: harness.chat('other').id,
      result: null,
      summary: null,
      created_at: 0,
      updated_at: 0,
      completed_at: null,
    })
    expect(await harness.fire('scout2', due)).toEqual({ skipped: 'nothing-to-do' })
    expect(await harness.fire('scout', due)).toHaveProperty('fired')
    expect(messageOf(harness)).toContain('look there')
  })

  test('a manual heartbeat is placed at the head of a full lane, once, and no pause holds it', async () => {
    verifies('states:cron:manual-run-dispatches')
    const harness = aHarness()
    for (let count = 0; count < runLimits.laneQueueMax; count += 1) harness.chat('scout')
    await harness.clock.advance(1000)
    const byHand = (dueAt: number) => harness.fire('scout', { ...due, jobId: null, dueAt, manual: true })
    const first = await byHand(5000)
    expect(first).toMatchObject({ fired: { kind: 'heartbeat', proactive: false } })
    expect(await byHand(6000)).toEqual(first)
    expect(harness.ledger.queue.laneOf('scout').queued).toBe(runLimits.laneQueueMax + 1)
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.ledger.lifecycle.live.liveRunOf('scout')?.runId).toBe(
      'fired' in first ? first.fired.id : '',
    )
    await harness.ledger.close()
  })

  test('a heartbeat that a person requests always runs', async () => {
    heedsLesson(74)
    const harness = aHarness()
    expect(await harness.fire('scout', { ...due, manual: true })).toHaveProperty('fired')
  })

  test('a heartbeat whose context cannot be read runs, and says so', async () => {
    const harness = aHarness()
    harness.agent.fault = new Problem('agent-unavailable')
    expect(await harness.fire('scout', due)).toHaveProperty('fired')
    expect(messageOf(harness)).toContain('Context was not available')
  })

  test('a heartbeat with overlong rules tells the agent and the owner what is left out', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, heartbeat_rules: 'r'.repeat(70_000), is_default_heartbeat: false }
    await harness.fire('scout', due)
    expect(messageOf(harness)).toContain('read the rest in workspace/HEARTBEAT.md')
    const told = messageOf(harness).match(/r{1000,}/)?.[0].length ?? 0
    expect(harness.table.lastOf('scout')?.rules_left_out).toBe(70_000 - told)
    harness.end()
    harness.agent.context = { ...calm, heartbeat_rules: 'short', is_default_heartbeat: false }
    await harness.fire('scout', { ...due, dueAt: 2000 })
    expect(harness.table.lastOf('scout')?.rules_left_out).toBe(0)
  })

  test('a heartbeat is one run however often it is fired, whatever has changed', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    const first = await harness.fire('scout', due)
    harness.agent.context = { ...calm, daily_logs: 'other', has_recent_activity: true }
    expect(await harness.fire('scout', due)).toEqual(first)
    expect(runsOf(harness)).toHaveLength(1)
  })

  test('a heartbeat that is fired twice at once is one run', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    const [one, two] = await Promise.all([harness.fire('scout', due), harness.fire('scout', due)])
    expect(two).toEqual(one)
    expect(runsOf(harness)).toHaveLength(1)
  })

  test('a heartbeat does not queue behind the previous one', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    await harness.fire('scout', due)
    expect(await harness.fire('scout', { ...due, dueAt: 2000 })).toEqual({ skipped: 'overlap' })
    expect(await harness.fire('scout', { ...due, dueAt: 3000, manual: true })).toHaveProperty('fired')
  })

  test('a heartbeat is skipped while any earlier one is unfinished, whatever was skipped or ended meanwhile', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    const first = await harness.fire('scout', due)
    for (const dueAt of [2000, 3000, 4000]) {
      expect(await harness.fire('scout', { ...due, dueAt })).toEqual({ skipped: 'overlap' })
    }
    const byHand = await harness.fire('scout', { ...due, dueAt: 5000, manual: true })
    harness.ledger.lifecycle.cancelRun(owner, 'fired' in byHand ? byHand.fired.id : '')
    expect(await harness.fire('scout', { ...due, dueAt: 6000 })).toEqual({ skipped: 'overlap' })
    expect(runsOf(harness)).toHaveLength(2)
    harness.ledger.lifecycle.cancelRun(owner, 'fired' in first ? first.fired.id : '')
    expect(await harness.fire('scout', { ...due, dueAt: 7000 })).toHaveProperty('fired')
  })

  test('a manual heartbeat is the one that waits in a full lane, although others were due in between', async () => {
    const harness = aHarness()
    for (let count = 0; count < runLimits.laneQueueMax; count += 1) harness.chat('scout')
    const first = await harness.fire('scout', { ...due, dueAt: 1000, manual: true })
    for (const dueAt of [2000, 4000]) {
      expect(await harness.fire('scout', { ...due, dueAt })).toEqual({ skipped: 'overlap' })
      expect(await harness.fire('scout', { ...due, dueAt: dueAt + 1000, manual: true })).toEqual(first)
    }
    expect(harness.ledger.queue.laneOf('scout').queued).toBe(runLimits.laneQueueMax + 1)
  })

  test('a manual heartbeat is not merged with queued triggered ones, which take no place of people', async () => {
    const harness = aHarness()
    const byTrigger = { agentId: 'scout', input: { kind: 'chat', message: 'm', session: 's' } } as const
    for (let count = 0; count < runLimits.laneQueueMax; count += 1) {
      harness.ledger.queue.submitRun(
        { kind: 'system' },
        { ...byTrigger, trigger: 'cron', idempotencyKey: `${count}` },
      )
    }
    const first = await harness.fire('scout', { ...due, dueAt: 1000, manual: true })
    const second = await harness.fire('scout', { ...due, dueAt: 2000, manual: true })
    expect(second).toHaveProperty('fired')
    expect(second).not.toEqual(first)
  })

  test('two due heartbeats that are decided concurrently are one run, and so are manual ones in a full lane', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    const atOnce = (manual: boolean, dueAts: readonly number[]) =>
      Promise.all(dueAts.map((dueAt) => harness.fire('scout', { ...due, dueAt, manual })))
    expect(await atOnce(false, [1000, 2000])).toEqual([{ fired: expect.anything() }, { skipped: 'overlap' }])
    harness.end()
    for (let count = 0; count < runLimits.laneQueueMax; count += 1) harness.chat('scout')
    const [one, two] = await atOnce(true, [3000, 4000])
    expect(two).toEqual(one)
    expect(harness.ledger.queue.laneOf('scout').queued).toBe(runLimits.laneQueueMax + 1)
  })

  test('a heartbeat of an archived agent is skipped without asking its container', async () => {
    heedsLesson(81)
    const harness = aHarness()
    Object.assign(harness.agent, { archived: true, running: false })
    harness.agent.context = { ...calm, is_default_heartbeat: false }
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'archived' })
    expect(harness.agent.starts).toBe(0)
  })

  test('a heartbeat of a paused agent is skipped', async () => {
    const harness = aHarness({ pausedReason: () => 'too dear' })
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'paused' })
  })

  test('a heartbeat of an unknown agent throws a Problem', async () => {
    await expect(aHarness().fire('nobody', due)).rejects.toMatchObject({ code: 'unknown-agent' })
  })
})

describe('the heartbeat of a stopped agent', () => {
  /** A harness whose agent had a heartbeat while it ran, and has been stopped since. */
  async function stopped() {
    const harness = aHarness()
    await harness.fire('scout', due)
    harness.agent.running = false
    return harness
  }

  test('a stopped agent is not started only to find nothing to do', async () => {
    const harness = await stopped()
    expect(await harness.fire('scout', { ...due, dueAt: 2000 })).toEqual({ skipped: 'nothing-to-do' })
    expect(harness.agent.starts).toBe(0)
  })

  test('a stopped agent without stored facts is started and asked, and no model is called for nothing', async () => {
    verifies('states:heartbeat:skipped')
    const harness = aHarness()
    harness.agent.running = false
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'nothing-to-do' })
    expect(harness.agent.starts).toBe(1)
    Object.assign(harness.agent, { running: false, context: { ...calm, has_recent_activity: true } })
    expect(await harness.fire('scout', { ...due, dueAt: 2000 })).toHaveProperty('fired')
    expect(messageOf(harness)).toContain('the default')
  })

  test('an agent that was never started has default rules and no activity', async () => {
    const harness = aHarness()
    Object.assign(harness.agent, { running: false, neverStarted: true })
    expect(await harness.fire('scout', due)).toEqual({ skipped: 'nothing-to-do' })
    expect(harness.agent.starts).toBe(0)
    const newest = [{ topic: 'news', text: 'wet', from: 'sea', at: 0 }]
    const woken = aHarness({ unreadSignals: () => ({ count: 1, newest }) })
    Object.assign(woken.agent, { running: false, neverStarted: true })
    expect(await woken.fire('scout', due)).toHaveProperty('fired')
  })

  test('a heartbeat that stored facts show to be needless does not start its agent', async () => {
    const say = (changes: Partial<HeartbeatContext>) => ({ ...calm, ...changes })
    const ends: { skipped: boolean; starts: number }[] = []
    for (const known of [
      null,
      calm,
      say({ has_recent_activity: true }),
      say({ is_default_heartbeat: false }),
    ]) {
      for (const neverStarted of [false, true]) {
        const harness = aHarness()
        harness.agent.context = known ?? calm
        if (known) await harness.fire('scout', { ...due, dueAt: 1 })
        harness.end()
        Object.assign(harness.agent, { running: false, neverStarted, context: calm })
        const end = await harness.fire('scout', { ...due, dueAt: 10_000, jobId: 'job_2' })
        ends.push({ skipped: 'skipped' in end, starts: harness.agent.starts })
      }
    }
    // All agents report at last that there is nothing to do; three of them have to be started to say so.
    expect(ends.filter(({ skipped }) => !skipped)).toEqual([])
    expect(ends.map(({ starts }) => starts)).toEqual([1, 0, 0, 0, 1, 0, 1, 0])
  })

  test('a stopped agent has no recent activity once its facts are two days old', async () => {
    const harness = aHarness()
    harness.agent.context = { ...calm, has_recent_activity: true }
    await harness.fire('scout', due)
    harness.agent.running = false
    await harness.clock.advance(2 * 24 * 3_600_000)
    harness.end()
    expect(await harness.fire('scout', { ...due, dueAt: 2000 })).toEqual({ skipped: 'nothing-to-do' })
    expect(harness.agent.starts).toBe(0)
  })

  test('a stopped agent is started if a caller connected to it since', async () => {
    const harness = await stopped()
    harness.known.reached('scout')
    harness.agent.context = { ...calm, is_default_heartbeat: false }
    expect(await harness.fire('scout', { ...due, dueAt: 2000 })).toHaveProperty('fired')
    expect(harness.agent.starts).toBe(1)
  })

  test('no facts are stored while a caller may still be connected', async () => {
    const harness = aHarness()
    harness.known.reached('scout')
    await harness.fire('scout', due)
    expect(harness.known.recall('scout')).toBeNull()
    await harness.clock.advance(300_001)
    await harness.fire('scout', { ...due, dueAt: 2000 })
    expect(harness.known.recall('scout')).toEqual({
      defaultRules: true,
      recentActivity: false,
      diskUsedPercent: 10,
      readAt: harness.clock.now(),
    })
  })

  test('a started agent gets its current rules and not stored ones', async () => {
    const harness = await stopped()
    expect(await harness.fire('scout', { ...due, dueAt: 2000, manual: true })).toHaveProperty('fired')
    expect(harness.agent.starts).toBe(1)
    expect(messageOf(harness)).toContain('the default')
  })
})
