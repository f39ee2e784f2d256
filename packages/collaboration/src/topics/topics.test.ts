import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { topicLimits } from '@flotilla/protocol/topics-api'
import { describe, expect, test } from 'vitest'
import { collectJournal, countingIds } from '../../../../tests/support/collected-ports.ts'
import { verifies } from '../../../../tests/verifies.ts'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { createTopics } from './topics.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string, runId = `run_of_${agentId}`): Caller => ({
  kind: 'agent',
  agentId,
  token: 'door',
  run: {
    runId,
    agentId,
    fence: 1,
    taskId: null,
    origin: { kind: 'human', channel: 'cli' },
    budgetUsd: null,
    budgetTokens: null,
  },
})

/** Creates topics with the real rules; agents without a record may do everything with topics. */
function someTopics(records: Record<string, Partial<PermissionRecord>> = {}) {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const time = { ms: 1_000_000 }
  const clock = { now: () => time.ms, sleep: async () => {} }
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  bus.subscribe((event) => void events.push(event.body))
  const journal = collectJournal()
  const all = { can_publish: ['*'], can_subscribe: ['*'] }
  const rules = {
    broken: null,
    recordOf: (agentId: string) => permissionRecordSchema.parse(records[agentId] ?? all),
  }
  const decide = (caller: Caller, action: Action) => authorize(rules, caller, action)
  const topics = createTopics({
    database,
    clock,
    newId: countingIds(),
    decide,
    guard: (caller, action) => {
      if (!decide(caller, action).allowed) throw new Problem('denied')
    },
    journal,
    events: bus,
  })
  const say = (from: string, topic: string, text: string) =>
    topics.publish(agent(from), { topic, text, data: null })
  const texts = (caller: Caller, key: string, limit = 20) =>
    topics.read(caller, { limit, key }).signals.map(({ text }) => text)
  return { topics, database, records, events, journal, time, say, texts }
}

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('a topic as people see it', () => {
  test('people see the newest signals of a topic first, read or not, and its subscribers', () => {
    const { topics, say, texts } = someTopics()
    const owner: Caller = { kind: 'human', role: 'owner', channel: 'dashboard' }
    topics.subscribe(agent('b'), 'builds/main')
    say('a', 'builds/main', 'red')
    expect(texts(agent('b', 'r'), 'k')).toEqual(['red'])
    topics.runSettled({ id: 'r', state: 'done' })
    say('a', 'builds/main', 'green')
    say('a', 'builds', 'of another')
    const seen = topics.viewTopic(owner, 'builds/main')
    expect(seen).toMatchObject({ subscribers: ['b'], kept: 2 })
    expect(seen.signals.map(({ text, from }) => `${from}: ${text}`)).toEqual(['a: green', 'a: red'])
    expect(() => topics.viewTopic(owner, 'nothing')).toThrow(code('not-found'))
    expect(() => topics.viewTopic(agent('b'), 'builds/main')).toThrow(code('denied'))
  })
})

describe('publishing', () => {
  test('a signal reaches every subscriber except its sender and returns their number', () => {
    const { topics, say, texts, events, journal } = someTopics()
    for (const id of ['a', 'b', 'c']) topics.subscribe(agent(id), 'builds')
    topics.subscribe(agent('d'), 'builds/main')
    expect(say('a', 'builds', 'green')).toEqual({ signalId: 'sig_1', delivered: 2, full: [] })
    expect(say('a', 'nobody/listens', 'hello')).toMatchObject({ delivered: 0 })
    expect(texts(agent('b'), 'k')).toEqual(['green'])
    expect(topics.unreadSignals('a').count).toBe(0)
    expect(topics.unreadSignals('d').count).toBe(0)
    expect(events.filter(({ type }) => type === 'signal.published')[0]).toEqual({
      type: 'signal.published',
      signal_id: 'sig_1',
      topic: 'builds',
      from: 'a',
      text: 'green',
      delivered: 2,
      full: [],
    })
    expect(journal.entries.map(({ action }) => action)).toContain('signal.published')
  })

  test('publishing and subscribing require a record that names the topic', () => {
    verifies('resources:permission:can-publish', 'resources:permission:can-subscribe')
    const { topics, say, records } = someTopics({
      a: { can_publish: ['builds'] },
      b: { can_subscribe: ['builds'] },
      c: {},
    })
    expect(() => say('a', 'deploys', 'x')).toThrow(code('denied'))
    expect(() => say('b', 'builds', 'x')).toThrow(code('denied'))
    expect(() => topics.subscribe(agent('a'), 'builds')).toThrow(code('denied'))
    expect(() => topics.subscribe(agent('c'), 'builds')).toThrow(code('denied'))
    expect(() => topics.subscribe(agent('b'), 'deploys')).toThrow(code('denied'))
    topics.subscribe(agent('b'), 'builds')
    expect(say('a', 'builds', 'x').delivered).toBe(1)
    // Without the permission the subscription ends at once; earlier signals stay, and unsubscribing is always
    // allowed.
    records['b'] = {}
    expect(say('a', 'builds', 'y').delivered).toBe(0)
    expect(topics.unreadSignals('b').count).toBe(1)
    expect(topics.unsubscribe(agent('b'), 'builds')).toEqual([])
  })

  test('a signal is rejected only by a full inbox, and the sender learns whose', () => {
    const { topics, say, texts } = someTopics()
    topics.subscribe(agent('busy'), 't')
    topics.subscribe(agent('idle'), 't')
    for (let n = 0; n < topicLimits.unreadMax; n++) {
      say('a', 't', `s${n}`)
      if (n % 50 === 49) {
        while (texts(agent('idle', 'r'), `${n}`, 50).length > 0) topics.runSettled({ id: 'r', state: 'done' })
      }
    }
    expect(say('a', 't', 'one more')).toMatchObject({ delivered: 1, full: ['busy'] })
    expect(topics.unreadSignals('busy').count).toBe(topicLimits.unreadMax)
    expect(texts(agent('busy'), 'k', 1)).toEqual(['s0'])
  })

  test('a signal must have visible text within the size limit', () => {
    const { topics, say, texts } = someTopics()
    topics.subscribe(agent('b'), 't')
    expect(() => say('a', 't', '\u200B \n')).toThrow(code('bad-request'))
    say('a', 't', 'hid\u200Bden \u202Etext')
    expect(texts(agent('b'), 'k')).toEqual(['hidden text'])
    const data = 'x'.repeat(topicLimits.signalMaxBytes - 8)
    expect(topics.publish(agent('a'), { topic: 't', text: 'd', data }).delivered).toBe(1)
    expect(() => topics.publish(agent('a'), { topic: 't', text: 'dd', data })).toThrow(code('body-too-large'))
    expect(topics.unreadSignals('b').count).toBe(2)
  })

  test.each(['', '/t', 't/', 't//u', '.t', 'a b', '*', 'x'.repeat(129), 'tête'])(
    'the topic %j is refused',
    (topic) => {
      const { topics, say } = someTopics()
      expect(() => say('a', topic, 'x')).toThrow(code('bad-request'))
      expect(() => topics.subscribe(agent('a'), topic)).toThrow(code('bad-request'))
    },
  )
})

describe('subscriptions', () => {
  test('repeated subscriptions have no effect, and subscriptions are limited', () => {
    const { topics, events } = someTopics()
    expect(topics.subscribe(agent('a'), 't')).toEqual(['t'])
    expect(topics.subscribe(agent('a'), 't')).toEqual(['t'])
    expect(events.map(({ type }) => type)).toEqual(['topic.subscribed'])
    for (let n = 1; n < topicLimits.subscriptionsPerAgentMax; n++) topics.subscribe(agent('a'), `t${n}`)
    expect(() => topics.subscribe(agent('a'), 'over')).toThrow(code('unprocessable'))
    for (let n = topicLimits.subscriptionsPerAgentMax; n < topicLimits.topicsMax; n++) {
      topics.subscribe(agent(`a${Math.floor(n / 100)}`), `t${n}`)
    }
    // All topics are used up; an agent without a subscription can still add one.
    expect(topics.subscribe(agent('z'), 'new')).toEqual(['new'])
    expect(() => topics.subscribe(agent('z'), 'newer')).toThrow(code('unprocessable'))
    expect(topics.subscribe(agent('z'), 't')).toEqual(['new', 't'])
  })

  test('subscriptions and unread signals are deleted with their agent, and its signals stay for others', () => {
    const { topics, say, texts } = someTopics()
    topics.subscribe(agent('a'), 't')
    topics.subscribe(agent('b'), 't')
    say('a', 't', 'from a')
    say('b', 't', 'from b')
    topics.forget('a')
    expect(topics.viewOf(owner, 'a')).toEqual({ topics: [], unread: 0, signals: [] })
    expect(say('b', 't', 'again').delivered).toBe(0)
    expect(texts(agent('b'), 'k')).toEqual(['from a'])
  })

  test('only agents can subscribe', () => {
    const { topics } = someTopics()
    expect(() => topics.subscribe(owner, 't')).toThrow(code('denied'))
    expect(() => topics.read(owner, { limit: 1, key: 'k' })).toThrow(code('denied'))
    expect(() => topics.view(agent('a'))).toThrow(code('denied'))
    expect(() => topics.viewOf(agent('a'), 'b')).toThrow(code('denied'))
  })
})

describe('reading', () => {
  function aBox() {
    const harness = someTopics()
    harness.topics.subscribe(agent('b'), 't')
    for (const text of ['one', 'two', 'three']) harness.say('a', 't', text)
    return harness
  }

  test('signals are read when the run ends well, and stay unread otherwise', () => {
    const { topics, texts } = aBox()
    expect(texts(agent('b', 'run_1'), 'k')).toEqual(['one', 'two', 'three'])
    topics.runSettled({ id: 'run_1', state: 'failed' })
    expect(topics.unreadSignals('b').count).toBe(3)
    expect(texts(agent('b', 'run_2'), 'k', 2)).toEqual(['one', 'two'])
    topics.runSettled({ id: 'run_2', state: 'done' })
    expect(topics.unreadSignals('b')).toEqual({
      count: 1,
      newest: [{ topic: 't', text: 'three', from: 'a', at: 1_000_000 }],
    })
  })

  test('a repeated call gives the same signals, and the next call of the run the following ones', () => {
    const { topics, texts } = aBox()
    const caller = agent('b', 'run_1')
    expect(topics.read(caller, { limit: 2, key: 'run_1:3' })).toMatchObject({ more: 1 })
    expect(texts(caller, 'run_1:3', 2)).toEqual(['one', 'two'])
    expect(texts(caller, 'run_1:4', 2)).toEqual(['three'])
    expect(texts(caller, 'run_1:5', 2)).toEqual([])
    topics.runSettled({ id: 'run_1', state: 'done' })
    expect(topics.unreadSignals('b').count).toBe(0)
  })

  test('a signal that three failed runs received counts as read', () => {
    const { topics, texts } = aBox()
    for (const runId of ['run_1', 'run_2', 'run_3']) {
      expect(texts(agent('b', runId), 'k')).toHaveLength(3)
      topics.runSettled({ id: runId, state: 'failed' })
    }
    expect(topics.unreadSignals('b').count).toBe(0)
  })

  test('one answer is limited in size and contains at least one signal', () => {
    const { topics } = aBox()
    const data = 'x'.repeat(topicLimits.signalMaxBytes - 20)
    for (let n = 0; n < 2; n++) topics.publish(agent('a'), { topic: 't', text: 'big', data })
    const sizes = ['1', '2', '3'].map((key) => topics.read(agent('b'), { limit: 50, key }).signals.length)
    expect(sizes).toEqual([3, 1, 1])
  })

  test('reading signals requires a live run', () => {
    const { topics } = aBox()
    const caller: Caller = { kind: 'agent', agentId: 'b', token: 'door', run: null }
    expect(() => topics.read(caller, { limit: 1, key: 'k' })).toThrow(code('stale-fence'))
  })

  test('the summary for a heartbeat has the newest five signals of this agent, truncated', () => {
    const { topics, say } = aBox()
    topics.subscribe(agent('b2'), 't')
    for (let n = 0; n < 6; n++) say('a', 't', `${n} ${'x'.repeat(300)}`)
    const { count, newest } = topics.unreadSignals('b')
    expect(count).toBe(9)
    expect(newest.map(({ text }) => text.slice(0, 1))).toEqual(['5', '4', '3', '2', '1'])
    expect(newest.every(({ text }) => text.length === 200)).toBe(true)
    expect(topics.unreadSignals('b2').count).toBe(6)
  })
})

describe('what is kept', () => {
  test('signals are kept while an agent has not read them, and for a week after all have', () => {
    const { topics, say, texts, time } = someTopics()
    topics.subscribe(agent('b'), 't')
    say('a', 't', 'unread')
    say('a', 'u', 'no subscribers')
    time.ms += 7 * 24 * 3600 * 1000
    expect(topics.sweep()).toBe(0)
    time.ms += 1
    expect(topics.sweep()).toBe(1)
    expect(topics.view(owner)).toEqual([{ topic: 't', subscribers: ['b'], signals: 1, lastAt: 1_000_000 }])
    texts(agent('b', 'run_1'), 'k')
    topics.runSettled({ id: 'run_1', state: 'done' })
    expect(topics.sweep()).toBe(1)
  })

  test('at most the newest 5000 signals are kept', () => {
    const { topics, say, database } = someTopics()
    topics.subscribe(agent('b'), 't')
    database.transaction(() => {
      say('a', 't', 'unread')
      for (let n = 0; n < 5010; n++) say('a', 'u', `${n}`)
    })
    expect(topics.sweep()).toBe(10)
    expect(topics.unreadSignals('b').count).toBe(1)
  })
})
