import { watchLimits } from '@flotilla/protocol/blackboard-limits'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Action } from '../../../identity/src/access/action.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { createBlackboard } from './blackboard.ts'
import { createBlackboardWatches } from './set-watch.ts'
import { createNotifyWatchers } from './tell-watchers.ts'
import { createBlackboardWatchTable } from './watch-table.ts'
import { ownLoop } from '../../../testing/src/own-loop.ts'

const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })

/** Creates a blackboard with watches on a ledger with fake agents. */
async function aBoard(before?: LedgerHarness) {
  const harness = before ?? aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  const hidden = new Set<string>()
  const paused = new Set<string>()
  harness.workEvents.reasonsToPause.subscribe((agentId) => (paused.has(agentId) ? ['it is paused'] : []))
  const decide = (_caller: Caller, action: Action) =>
    action.do === 'read-blackboard' && hidden.has(action.key)
      ? ({ allowed: false, reason: 'no', field: null } as const)
      : ({ allowed: true } as const)
  const shared = { ...harness, decide }
  const table = createBlackboardWatchTable(harness.database)
  const watchers = createNotifyWatchers({
    loop: ownLoop(),
    ...shared,
    table,
    runs: harness.runs,
    log: silentLog,
  })
  const watches = createBlackboardWatches({
    ...shared,
    table,
    guard: (caller, action) => {
      if (action.do === 'read-blackboard' && action.key.startsWith('projects/')) throw new Problem('denied')
      if (caller.kind === 'agent' && action.do !== 'act-for-self') throw new Problem('denied')
    },
    requireAgent: (agentId) => {
      if (agentId === 'ghost') throw new Problem('unknown-agent')
    },
    heldBecause: watchers.heldBecause,
  })
  const board = createBlackboard({
    loop: ownLoop(),
    ...shared,
    noteChange: watchers.note,
  })
  const write = (by: string, key: string) => board.write(agent(by), { key, value: 1 })
  /** The messages that the agent received, oldest first. */
  const told = (agentId: string) =>
    harness.agents.sent.filter((one) => one.agentId === agentId).map((one) => one.message)
  const deliver = async () => {
    watchers.deliver()
    await harness.clock.settle()
  }
  return { harness, board, watches, watchers, write, told, deliver, hidden, paused }
}

const watching = (tell: 'run' | 'steer' = 'run') =>
  ({ agentId: 'scout', pattern: 'output/**', tell }) as const
const code = (expected: string) => expect.objectContaining({ code: expected })

describe('a watch', () => {
  test('a watch starts a run of its agent with what others wrote', async () => {
    const { watches, write, told, deliver, harness } = await aBoard()
    watches.set(agent('scout'), watching())
    write('auditor', 'output/report')
    write('auditor', 'status/now')
    await deliver()
    expect(told('scout')).toEqual([
      'Other agents or people wrote these blackboard entries that you watch:\n- output/report: version 1, by auditor\nRead what you need with read_blackboard.',
    ])
    const [run] = harness.ledger.queries.list({ agentId: 'scout', limit: 5 })
    expect(run).toMatchObject({ origin: { kind: 'watcher', channel: 'mesh' }, proactive: true })
  })

  test('a watch does not notify its agent of its own writes', async () => {
    const { watches, write, told, deliver } = await aBoard()
    watches.set(agent('scout'), watching())
    write('scout', 'output/report')
    await deliver()
    expect(told('scout')).toEqual([])
    expect(watches.list(agent('scout'))).toMatchObject([{ waiting: 0, held: null }])
  })

  test('a watch collects changes while its last run is queued, keeping the newest of each key', async () => {
    const { watches, write, told, deliver, harness } = await aBoard()
    watches.set(agent('scout'), watching())
    harness.chat('scout')
    await harness.clock.settle()
    write('auditor', 'output/a')
    await deliver()
    for (let count = 0; count < 5; count++) write('auditor', 'output/b')
    write('auditor', 'output/c')
    await deliver()
    expect(watches.list(agent('scout'))[0]).toMatchObject({
      waiting: 2,
      held: expect.stringContaining('has not started'),
    })
    harness.agents.finish('scout')
    await harness.clock.settle()
    await deliver()
    harness.agents.finish('scout')
    await harness.clock.settle()
    expect(told('scout')).toHaveLength(3)
    expect(told('scout')[2]).toContain('- output/b: version 5, by auditor\n- output/c: version 1, by auditor')
  })

  test('a steering watch notifies the running work, or starts a run', async () => {
    const { watches, write, told, deliver, harness } = await aBoard()
    watches.set(agent('scout'), watching('steer'))
    const atWork = harness.chat('scout')
    await harness.clock.settle()
    write('auditor', 'output/a')
    await deliver()
    expect(harness.steersOf(atWork)).toMatchObject([{ text: expect.stringContaining('output/a') }])
    expect(told('scout')).toEqual(['hello'])
    harness.agents.finish('scout')
    await harness.clock.settle()
    harness.agents.finish('scout')
    await harness.clock.settle()
    write('auditor', 'output/b')
    await deliver()
    expect(told('scout').at(-1)).toContain('output/b')
  })

  test('a watch delivers its changes exactly once after a crash between the write and the delivery', async () => {
    const { watches, write, harness } = await aBoard()
    watches.set(agent('scout'), watching())
    write('auditor', 'output/a')
    const again = await aBoard(await harness.restarted())
    await again.deliver()
    await again.deliver()
    expect(again.told('scout')).toHaveLength(1)
    const later = await aBoard(await again.harness.restarted())
    await later.deliver()
    expect(later.told('scout').filter((message) => message.includes('output/a'))).toHaveLength(
      later.harness.agents.sent.length,
    )
    expect(later.harness.ledger.queries.list({ limit: 10 })).toHaveLength(1)
  })

  test('a watch hides keys that its agent may not read at the write or at the delivery', async () => {
    const { watches, write, told, deliver, hidden } = await aBoard()
    watches.set(agent('scout'), watching())
    hidden.add('output/secret')
    write('auditor', 'output/secret')
    write('auditor', 'output/later')
    hidden.add('output/later')
    await deliver()
    expect(told('scout')).toEqual([])
  })

  test('a watch is held while its agent is paused and continues afterwards', async () => {
    const { watches, write, told, deliver, paused } = await aBoard()
    watches.set(agent('scout'), watching())
    paused.add('scout')
    write('auditor', 'output/a')
    await deliver()
    expect(told('scout')).toEqual([])
    expect(watches.list(agent('scout'))[0]?.held).toBe('it is paused')
    paused.clear()
    await deliver()
    expect(told('scout')).toHaveLength(1)
  })

  test("two agents that answer each other's writes stop at the hourly limit", async () => {
    const { watches, write, deliver, harness } = await aBoard()
    watches.set(agent('scout'), watching())
    for (let count = 0; count < watchLimits.notifiedPerAgentAndHourMax + 5; count++) {
      write('auditor', 'output/a')
      await deliver()
      harness.agents.finish('scout')
      await harness.clock.settle()
    }
    expect(harness.ledger.queries.list({ agentId: 'scout', limit: 500 })).toHaveLength(
      watchLimits.notifiedPerAgentAndHourMax,
    )
    expect(watches.list(agent('scout'))[0]?.held).toContain('in this hour')
  })

  test("setting a watch again or adding others does not raise the agent's hourly limit", async () => {
    const { watches, write, deliver, harness } = await aBoard()
    const patterns = ['output/**', 'output/*'] as const
    for (let count = 0; count < watchLimits.notifiedPerAgentAndHourMax + 5; count++) {
      const wish = { agentId: 'scout', pattern: patterns[count % 2] ?? '' } as const
      watches.set(agent('scout'), { ...wish, tell: 'run' })
      write('auditor', 'output/a')
      await deliver()
      watches.set(agent('scout'), { ...wish, tell: 'off' })
      harness.agents.finish('scout')
      await harness.clock.settle()
    }
    const runs = () => harness.ledger.queries.list({ agentId: 'scout', limit: 500 }).length
    expect(runs()).toBe(watchLimits.notifiedPerAgentAndHourMax)
    watches.set(agent('scout'), watching())
    write('auditor', 'output/a')
    const later = await aBoard(await harness.restarted())
    await later.deliver()
    expect(later.watches.list(agent('scout'))[0]).toMatchObject({
      waiting: 1,
      held: expect.stringContaining('in this hour'),
    })
    await later.harness.clock.advance(3600_000)
    await later.deliver()
    expect(later.harness.ledger.queries.list({ agentId: 'scout', limit: 500 })).toHaveLength(
      watchLimits.notifiedPerAgentAndHourMax + 1,
    )
  })

  test('a steering watch starts a run as a trigger does, at once or after the current work', async () => {
    const { watches, write, deliver, harness } = await aBoard()
    const [watch] = watches.set(agent('scout'), watching('steer'))
    const newest = () => harness.ledger.queries.list({ agentId: 'scout', limit: 1 })[0]
    write('auditor', 'output/a')
    await deliver()
    const calledByWatch = { origin: { kind: 'watcher', channel: 'mesh', user: watch?.id }, proactive: true }
    expect(newest()).toMatchObject(calledByWatch)
    write('auditor', 'output/b')
    await deliver()
    harness.agents.finish('scout')
    await harness.clock.settle()
    expect(harness.ledger.queries.list({ agentId: 'scout', limit: 5 })).toHaveLength(2)
    expect(newest()).toMatchObject(calledByWatch)
  })

  test('a watch keeps a bounded number of changes, the newest ones', async () => {
    const { watches, write, paused, board } = await aBoard()
    watches.set(agent('scout'), watching())
    paused.add('scout')
    for (let count = 0; count < watchLimits.changesMax + 5; count++) write('auditor', `output/${count}`)
    expect(watches.list(agent('scout'))[0]?.waiting).toBe(watchLimits.changesMax)
    expect((await board.list(person, 'output/')).entries).toHaveLength(watchLimits.changesMax + 5)
  })
})

describe('setting watches', () => {
  test('an agent sets only its own watches, and people set those of any agent', async () => {
    const { watches } = await aBoard()
    expect(watches.set(person, watching())).toMatchObject([{ agent_id: 'scout', created_by: 'human:cli' }])
    expect(() => watches.set(person, { ...watching(), agentId: 'ghost' })).toThrow(code('unknown-agent'))
    expect(watches.list(agent('auditor'))).toEqual([])
    expect(watches.set(agent('scout'), { ...watching(), tell: 'steer' })).toMatchObject([{ tell: 'steer' }])
    expect(watches.set(agent('scout'), { ...watching(), tell: 'off' })).toEqual([])
    expect(() => watches.set(agent('scout'), { ...watching(), tell: 'off' })).toThrow(code('not-found'))
  })

  test('watching keys of another project is rejected', async () => {
    const { watches } = await aBoard()
    const wish = { agentId: 'scout', pattern: 'projects/blue/**', tell: 'run' } as const
    expect(() => watches.set(agent('scout'), wish)).toThrow(code('denied'))
  })

  test('the number of watches is limited', async () => {
    const { watches } = await aBoard()
    const wish = (count: number) => ({ agentId: 'scout', pattern: `k${count}/*`, tell: 'run' }) as const
    for (let count = 0; count < watchLimits.perAgentMax; count++) watches.set(agent('scout'), wish(count))
    expect(() => watches.set(agent('scout'), wish(99))).toThrow(code('unprocessable'))
    expect(watches.set(agent('scout'), { ...wish(1), tell: 'off' })).toHaveLength(watchLimits.perAgentMax - 1)
  })
})

describe('history/', () => {
  test.each(['history/2026', 'projects/red/history/2026'])(
    '%s is added to and never changed',
    async (key) => {
      const { board } = await aBoard()
      const entry = board.write(agent('scout'), { key, value: 'it rained' })
      expect(entry).toMatchObject({ version: 1, expires_at: null })
      for (const write of [{}, { expectedVersion: 1 }, { ttlSeconds: 5 }]) {
        const change = () => board.write(agent('scout'), { key, value: 'it did not', ...write })
        expect(change).toThrow(Problem)
      }
      expect(() => board.write(agent('scout'), { key: `${key}-b`, value: 1, ttlSeconds: 5 })).toThrow(
        code('bad-request'),
      )
      expect(() => board.write(agent('scout'), { key, value: 'again' })).toThrow(
        expect.objectContaining({ repair: expect.stringContaining('under another key') }),
      )
      expect(board.read(person, key).value).toBe('it rained')
    },
  )

  test('only people can delete a history entry, and its key stays used', async () => {
    const { board } = await aBoard()
    const key = 'history/2026'
    board.write(agent('scout'), { key, value: 1 })
    expect(() => board.remove(agent('scout'), key)).toThrow(code('denied'))
    board.remove(person, key)
    expect(() => board.read(person, key)).toThrow(code('not-found'))
    expect(() => board.remove(person, key)).toThrow(code('not-found'))
    expect(board.write(agent('scout'), { key, value: 2 }).version).toBe(2)
  })
})
