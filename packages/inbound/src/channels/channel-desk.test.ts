import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { aChannelHarness, ann, issuer } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import type { FakeChannel } from '../../../testing/src/fake-channel.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}, fake: FakeChannel = createFakeAdapter()) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  opened.push(harness)
  let count = 0
  /** Sends a direct message as Ann and runs everything that needs no time. */
  const say = async (text: string, fields: Parameters<typeof aReceived>[0] = {}) => {
    await fake.hear(aReceived({ id: `said-${++count}`, text, ...fields }))
    await harness.clock.settle()
  }
  const sentTexts = () => fake.messages().map(({ text }) => text)
  return { ...harness, fake, say, told: sentTexts }
}

const runCount = ({ rows }: Harness) => rows('SELECT id FROM runs').length

describe('a message on a channel', () => {
  test("a message becomes a run of the operator with the person's name and session, and its outcome is sent there", async () => {
    const setup = await open()
    await setup.say('good morning')
    const [run] = setup.ledger.queries.list({ limit: 9 })
    expect(run).toMatchObject({
      agentId: 'operator',
      origin: { kind: 'human', channel: 'telegram', user: 'ann' },
      input: { kind: 'chat', message: 'good morning', session: 'telegram:ann' },
    })
    setup.agents.finish('operator', { response: 'Hello Ann' })
    await setup.clock.settle()
    expect(setup.told()).toEqual([expect.stringMatching(/^\[operator\]\s+Hello Ann$/)])
    expect(setup.fake.messages()[0]).toMatchObject({ replyToId: 'said-1', place: { conversationId: '1000' } })
    expect(setup.openNotes()).toEqual([])
  })

  test('a repeated message has no effect, before and after the answer', async () => {
    const setup = await open()
    await setup.say('once', { id: 'same' })
    await setup.say('once', { id: 'same' })
    setup.agents.finish('operator')
    await setup.clock.settle()
    await setup.say('once, and edited since', { id: 'same' })
    expect(runCount(setup)).toBe(1)
    expect(setup.told()).toHaveLength(1)
  })

  test('two concurrent copies of a message become one run', async () => {
    const setup = await open()
    const message = aReceived({ id: 'same' })
    await Promise.all([setup.fake.hear(message), setup.fake.hear(message), setup.fake.hear(message)])
    expect(runCount(setup)).toBe(1)
  })

  test('invisible characters are removed from a message', async () => {
    const setup = await open()
    await setup.say('pay\u202E\u200B now\u{E0041}')
    expect(setup.ledger.queries.list({ limit: 1 })[0]?.input).toMatchObject({ message: 'pay now' })
  })

  test('messages between people and empty messages are ignored', async () => {
    const setup = await open()
    const group = { conversationId: '-5', threadId: null, isPrivate: false }
    await setup.say('lunch?', { place: group, addressed: false })
    await setup.say('\u200B')
    await setup.say('hello', { senderId: 'not a number' })
    expect(runCount(setup)).toBe(0)
    expect(setup.rows('SELECT * FROM channel_messages')).toEqual([])
  })

  test('in a group each person and thread has its own session', async () => {
    const setup = await open({
      people: [
        ann,
        { name: 'bob', role: 'member', agents: ['*', 'operator'], identities: ['telegram:2000'] },
      ],
    })
    const place = { conversationId: '-5', threadId: '9', isPrivate: false }
    await setup.say('one', { place })
    await setup.say('two', { place, senderId: '2000' })
    await setup.say('three', { place: { ...place, threadId: '10' } })
    const sessions = setup.ledger.queries
      .list({ limit: 9 })
      .map(({ input }) => (input.kind === 'chat' ? input.session : ''))
    expect(new Set(sessions).size).toBe(3)
    expect(sessions.every((session) => /^telegram:(ann|bob):[0-9a-f]{12}$/.test(session))).toBe(true)
  })

  test('a message is rejected to the platform while people.json is broken, and accepted after the repair', async () => {
    const setup = await open()
    setup.faults.peopleBroken = 'config/people.json line 3'
    await expect(setup.fake.hear(aReceived({ id: 'x' }))).rejects.toMatchObject({ code: 'unprocessable' })
    expect(setup.told()).toEqual([])
    setup.faults.peopleBroken = null
    await setup.fake.hear(aReceived({ id: 'x' }))
    expect(runCount(setup)).toBe(1)
  })
})

describe('strangers on a channel', () => {
  test("a stranger gets one reply with their id and the owner's command, and is then ignored", async () => {
    const setup = await open()
    for (const text of ['hi', 'hello?', '/agents', '@scout go']) await setup.say(text, { senderId: '666' })
    expect(setup.told()).toEqual([expect.stringContaining('flotilla people link NAME telegram:666')])
    expect(runCount(setup)).toBe(0)
    expect(setup.rows('SELECT * FROM channel_messages')).toHaveLength(1)
  })

  test('replies to strangers are limited per minute, and their rows are bounded', async () => {
    const setup = await open()
    for (let n = 1; n <= 100; n++) await setup.say('hi', { senderId: String(10_000 + n) })
    expect(setup.told()).toHaveLength(10)
    expect(setup.rows('SELECT * FROM channel_strangers')).toHaveLength(10)
    await setup.clock.advance(60_001)
    await setup.say('hi', { senderId: '77777' })
    expect(setup.told()).toHaveLength(11)
  })
})

describe('pairing a channel', () => {
  test('the first person who sends the code is linked as the owner, once', async () => {
    const setup = await open({ people: [] })
    const { code } = setup.codes.issue('telegram', issuer)
    await setup.say(`/start ${code}`)
    expect(setup.identityOf('telegram', '1000')).toBe('owner')
    expect(setup.told()).toEqual([expect.stringContaining('You are owner here')])
    await setup.say(code, { senderId: '2000' })
    expect(setup.identityOf('telegram', '2000')).toBeNull()
  })

  test('a code is invalid after ten minutes, after five wrong ones, and in a group', async () => {
    const setup = await open({ people: [] })
    const late = setup.codes.issue('telegram', issuer).code
    await setup.clock.advance(10 * 60_000)
    await setup.say(late)
    const guessed = setup.codes.issue('telegram', issuer).code
    for (let n = 0; n < 5; n++) await setup.say('AAAAAAAA')
    await setup.say(guessed)
    const shown = setup.codes.issue('telegram', issuer).code
    await setup.say(shown, { place: { conversationId: '-1', threadId: null, isPrivate: false } })
    expect(setup.people).toEqual([])
  })

  test('a code of one channel is invalid on another', async () => {
    const setup = await open({ people: [] })
    const { code } = setup.codes.issue('slack', issuer)
    await setup.say(code)
    expect(setup.people).toEqual([])
    expect(setup.codes.isOpen('slack')).toBe(true)
  })
})

describe('commands on a channel', () => {
  test('@agent addresses that agent once; /use and a button choose one until changed, over a restart', async () => {
    const setup = await open()
    await setup.say('@scout look around')
    await setup.say('/use auditor')
    await setup.say('check it')
    expect(setup.ledger.queries.list({ limit: 9 }).map(({ agentId }) => agentId)).toEqual([
      'auditor',
      'scout',
    ])
    await setup.stop()
    opened.pop()
    const again = await open({ of: setup })
    await again.say('and now?', { id: 'after-1' })
    expect(again.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId: 'auditor' })
    await again.say('', { id: 'after-2', pressed: 'use:scout' })
    await again.say('to scout', { id: 'after-3' })
    expect(again.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId: 'scout' })
  })

  test.each([
    ['/help', /\/agents/],
    ['/agents', /scout: the scout/],
    ['/status', /3 agents, 0 working/],
    ['/status scout', /USD 0\.25 today/],
    ['/costs', /Today USD 1\.50/],
    ['/pending', /no open approvals/],
    ['/stop', /no unfinished requests/],
    ['/use', /Choose with \/use/],
    ['/nonsense', /There is no \/nonsense/],
    ['/use scuot', /did you mean scout/],
    ['@nobody hi', /there is no agent nobody/],
    ['/HELP@flotilla_bot', /\/agents/],
  ])('%s answers at once and starts no run', async (text, answer) => {
    const setup = await open()
    await setup.say(text)
    expect(setup.told()).toEqual([expect.stringMatching(answer)])
    expect(runCount(setup)).toBe(0)
  })

  test('/pending names the place to decide only for an approval that no person has confirmed', async () => {
    const confirmed = { id: 'appr_1', summary: 'Add packages', state: 'confirmed' } as ApprovalView
    const pending = { ...confirmed, id: 'appr_2', state: 'pending' } as ApprovalView
    const one = await open({ approvals: [confirmed] })
    await one.say('/pending')
    expect(one.told()).toEqual(['- appr_1 (approved, in progress): Add packages'])
    const both = await open({ approvals: [confirmed, pending] })
    await both.say('/pending')
    expect(both.told()[0]).toMatch(
      /in progress\): Add packages\n- appr_2: Add packages\nApprovals are not given here/,
    )
  })

  test('the agents to choose from are shown as buttons', async () => {
    const setup = await open()
    await setup.say('/use')
    expect(setup.fake.messages()[0]?.buttons.map(({ value }) => value)).toEqual([
      'use:operator',
      'use:scout',
      'use:auditor',
    ])
  })

  test("/stop cancels only the person's own requests in this conversation", async () => {
    const setup = await open({
      people: [ann, { name: 'bob', role: 'owner', identities: ['telegram:2000'] }],
    })
    await setup.say('@scout mine')
    await setup.say('@scout theirs', {
      senderId: '2000',
      place: { conversationId: '2000', threadId: null, isPrivate: true },
    })
    await setup.say('/stop')
    expect(
      setup.ledger.queries
        .list({ limit: 9 })
        .map(({ input, state }) => [input.kind === 'chat' && input.message, state]),
    ).toEqual([
      ['theirs', 'running'],
      ['mine', 'cancelled'],
    ])
    expect(setup.told()).toContainEqual(expect.stringContaining('Stopped: scout'))
  })

  test('a message that a stopped run had not read is returned to its sender, since it starts no run', async () => {
    const setup = await open()
    await setup.say('@scout go')
    await setup.say('/steer @scout to the left')
    await setup.say('/stop')
    const told = setup.told()
    expect(told).toContainEqual(expect.stringContaining('Stopped: scout'))
    const returned = told.filter((text) => text.includes('was not read before scout was stopped'))
    expect(returned).toEqual([expect.stringContaining('“to the left”')])
    expect(runCount(setup)).toBe(1)
  })

  test('a message that a run had not read is returned to its sender if another person stops the run elsewhere', async () => {
    const setup = await open()
    await setup.say('@scout go')
    await setup.say('/steer @scout to the left')
    const [run] = setup.ledger.queries.list({ limit: 1 })
    setup.ledger.lifecycle.cancelRun(issuer, run?.id ?? '')
    await setup.clock.settle()
    expect(setup.told()).toContainEqual(expect.stringContaining('“to the left”'))
    expect(runCount(setup)).toBe(1)
  })

  test('a message that a stopped run had not read is not quoted in a group', async () => {
    const group = { conversationId: '-77', threadId: null, isPrivate: false }
    const setup = await open()
    await setup.say('@scout go', { place: group })
    await setup.say('/steer @scout to the left', { place: group })
    await setup.say('/stop', { place: group })
    const told = setup.told()
    expect(told).toContainEqual(expect.stringContaining('Stopped: scout'))
    expect(told).toContainEqual(expect.stringContaining('was not read before scout was stopped'))
    expect(told.join('\n')).not.toContain('to the left')
  })

  test('/steer writes to a running agent, and starts a run of an idle one, which is answered here', async () => {
    const setup = await open()
    await setup.say('@scout go')
    await setup.say('/steer @scout to the left')
    expect(setup.told()).toEqual([expect.stringContaining('which reads your message')])
    await setup.say('/steer @auditor begin')
    const run = setup.ledger.queries.list({ agentId: 'auditor', limit: 1 })[0]
    expect(run?.origin).toMatchObject({ channel: 'telegram', user: 'ann' })
    setup.agents.finish('auditor', { response: 'begun and done' })
    await setup.clock.settle()
    expect(setup.told().at(-1)).toMatch(/^\[auditor\]\s+begun and done$/)
  })

  test('/broadcast reaches every agent, and each answers', async () => {
    const setup = await open()
    await setup.say('/broadcast report')
    expect(
      setup.ledger.queries
        .list({ limit: 9 })
        .map(({ agentId }) => agentId)
        .toSorted(),
    ).toEqual(['auditor', 'operator', 'scout'])
    for (const agentId of ['auditor', 'operator', 'scout']) setup.agents.finish(agentId)
    await setup.clock.settle()
    expect(setup.told()).toHaveLength(4)
  })

  test('/reset archives the conversation, confirms it, and is repeated after a crash', async () => {
    const setup = await open()
    await setup.say('/reset scout')
    await setup.clock.settle()
    expect(setup.resets).toEqual(['scout telegram:ann'])
    expect(setup.told()).toEqual([expect.stringContaining('3 messages are archived')])
    setup.rows(
      "UPDATE channel_messages SET open = json_object('id', message_id, 'senderId', sender_id, 'place', json_object('conversationId', '1000', 'threadId', NULL, 'isPrivate', json('true')), 'text', '/reset scout', 'pressed', NULL, 'attachments', 0) RETURNING *",
    )
    const again = await open({ of: setup })
    expect(again.resets).toEqual(['scout telegram:ann'])
    // The reply was sent before and is not repeated.
    expect(again.told()).toEqual([])
  })

  test('a viewer only reads, and a member acts on granted agents', async () => {
    heedsLesson(20)
    const setup = await open({
      people: [
        { name: 'vera', role: 'viewer', identities: ['telegram:1000'] },
        { name: 'max', role: 'member', agents: ['scout'], identities: ['telegram:2000'] },
      ],
    })
    for (const text of [
      'hello',
      '@scout go',
      '/use scout',
      '/broadcast x',
      '/steer @scout x',
      '/stop',
      '/reset scout',
    ]) {
      await setup.say(text)
    }
    await setup.say('/pending', { senderId: '2000' })
    await setup.say('/broadcast x', { senderId: '2000' })
    await setup.say('/steer @scout x', { senderId: '2000' })
    await setup.say('@auditor go', { senderId: '2000' })
    expect(runCount(setup)).toBe(0)
    expect(setup.resets).toEqual([])
    await setup.say('the only one there is for me', { senderId: '2000' })
    expect(setup.ledger.queries.list({ limit: 9 }).map(({ agentId }) => agentId)).toEqual(['scout'])
    await setup.say('/agents')
    expect(setup.told().at(-1)).toContain('auditor')
  })
})

test('an unknown agent name is reported with the nearest one, in one sentence', async () => {
  const setup = await open()
  await setup.say('@scot go')
  await setup.say('/use unknown-one')
  expect(setup.told()).toEqual([
    'Not done: there is no agent scot; did you mean scout?',
    expect.stringMatching(/^Not done: there is no agent unknown-one; the agents are operator, scout/),
  ])
})

test.each([
  ['/approve 7', 'flotilla pending'],
  ['/DENY 7', 'flotilla pending'],
  ['/credentials set x', 'flotilla credentials'],
  ['/allow @scout everything', 'flotilla permissions'],
  ['/approver', 'There is no /approver; /help lists all commands.'],
])('%s changes nothing and says where to do it', async (text, where) => {
  const setup = await open()
  await setup.say(text)
  expect(setup.told()).toEqual([expect.stringContaining(where)])
  expect(setup.told()[0]?.includes('There is no')).toBe(where.includes('There is no'))
  expect(runCount(setup)).toBe(0)
})

test.each([
  ['@auditor go', 'submit-run'],
  ['/use auditor', 'submit-run'],
  ['/steer @scout x', 'call-route'],
  ['/reset auditor', 'submit-run'],
  ['/broadcast x', 'call-route'],
  ['/pending', 'call-route'],
])('the refusal of %s to a member stays in the audit log', async (text, subject) => {
  heedsLesson(20)
  const setup = await open({
    people: [{ name: 'max', role: 'member', agents: ['scout'], identities: ['telegram:1000'] }],
  })
  await setup.say(text)
  expect(setup.told()).toEqual([expect.stringMatching(/Not done/)])
  expect(setup.rows("SELECT subject FROM journal WHERE action = 'permission.denied'")).toEqual([{ subject }])
})

describe('a flood of messages', () => {
  test('messages of one person are limited per minute, with one reply and without rows', async () => {
    const setup = await open({ perMinute: 5 })
    for (let n = 0; n < 1000; n++) await setup.fake.hear(aReceived({ id: `flood-${n}`, text: '/help' }))
    await setup.clock.settle()
    expect(setup.rows('SELECT * FROM channel_messages')).toHaveLength(6)
    expect(setup.told().filter((text) => text.includes('Too many messages'))).toHaveLength(1)
  })

  test('runs of one person are limited before the lane is full, and others are accepted', async () => {
    const setup = await open({
      people: [ann, { name: 'bob', role: 'owner', identities: ['telegram:2000'] }],
    })
    for (let n = 0; n < 12; n++) await setup.say(`@scout ${n}`)
    expect(runCount(setup)).toBe(5)
    expect(setup.told()).toHaveLength(7)
    await setup.say('@scout me too', { senderId: '2000' })
    expect(runCount(setup)).toBe(6)
  })

  test('thirty people are accepted at once, each with a share of the lane', async () => {
    const people = Array.from({ length: 30 }, (_, n) => ({
      name: `p${n}`,
      role: 'member' as const,
      agents: ['scout'],
      identities: [`telegram:${5000 + n}`],
    }))
    const setup = await open({ people })
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 30; n++)
        await setup.say(`round ${round}`, {
          senderId: String(5000 + n),
          place: { conversationId: String(5000 + n), threadId: null, isPrivate: true },
        })
    }
    const counts = setup
      .rows('SELECT count(*) AS count FROM channel_runs GROUP BY person')
      .map(({ count }) => Number(count))
    expect(counts).toHaveLength(30)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1)
    expect(Math.max(...counts)).toBeLessThanOrEqual(5)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(60)
  })
})
