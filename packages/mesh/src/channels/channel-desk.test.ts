import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { aChannelHarness, ann, issuer } from '../testing/channel-harness.ts'
import type { ChannelHarnessOptions } from '../testing/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../testing/fake-channel.ts'
import type { FakeChannel } from '../testing/fake-channel.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}, fake: FakeChannel = createFakeAdapter()) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  opened.push(harness)
  let count = 0
  /** Says it as Ann does, alone with us, and lets everything go on that needs no time. */
  const say = async (text: string, fields: Parameters<typeof aReceived>[0] = {}) => {
    await fake.hear(aReceived({ id: `said-${++count}`, text, ...fields }))
    await harness.clock.settle()
  }
  const told = () => fake.messages().map(({ text }) => text)
  return { ...harness, fake, say, told }
}

const runCount = ({ rows }: Harness) => rows('SELECT id FROM runs').length

describe('what people say on a channel', () => {
  test('is a run of the operator, in the person’s name and conversation, and its outcome is told there', async () => {
    const world = await open()
    await world.say('good morning')
    const [run] = world.ledger.queries.list({ limit: 9 })
    expect(run).toMatchObject({
      agentId: 'operator',
      origin: { kind: 'human', channel: 'telegram', user: 'ann' },
      input: { kind: 'chat', message: 'good morning', session: 'telegram:ann' },
    })
    world.agents.finish('operator', { response: 'Hello Ann' })
    await world.clock.settle()
    expect(world.told()).toEqual([expect.stringMatching(/^\[operator\]\s+Hello Ann$/)])
    expect(world.fake.messages()[0]).toMatchObject({ replyToId: 'said-1', place: { conversationId: '1000' } })
    expect(world.openNotes()).toEqual([])
  })

  test('comes again and is nothing new, before the answer and after it', async () => {
    const world = await open()
    await world.say('once', { id: 'same' })
    await world.say('once', { id: 'same' })
    world.agents.finish('operator')
    await world.clock.settle()
    await world.say('once, and edited since', { id: 'same' })
    expect(runCount(world)).toBe(1)
    expect(world.told()).toHaveLength(1)
  })

  test('comes twice at the same moment and is one run', async () => {
    const world = await open()
    const message = aReceived({ id: 'same' })
    await Promise.all([world.fake.hear(message), world.fake.hear(message), world.fake.hear(message)])
    expect(runCount(world)).toBe(1)
  })

  test('has what nobody could see taken out', async () => {
    const world = await open()
    await world.say('pay\u202E\u200B now\u{E0041}')
    expect(world.ledger.queries.list({ limit: 1 })[0]?.input).toMatchObject({ message: 'pay now' })
  })

  test('is not ours where people speak to one another, or nothing is said', async () => {
    const world = await open()
    const group = { conversationId: '-5', threadId: null, isPrivate: false }
    await world.say('lunch?', { place: group, addressed: false })
    await world.say('\u200B')
    await world.say('hello', { senderId: 'not a number' })
    expect(runCount(world)).toBe(0)
    expect(world.rows('SELECT * FROM channel_messages')).toEqual([])
  })

  test('in a group is a conversation of its own for each person and thread', async () => {
    const world = await open({
      people: [
        ann,
        { name: 'bob', role: 'member', agents: ['*', 'operator'], identities: ['telegram:2000'] },
      ],
    })
    const place = { conversationId: '-5', threadId: '9', isPrivate: false }
    await world.say('one', { place })
    await world.say('two', { place, senderId: '2000' })
    await world.say('three', { place: { ...place, threadId: '10' } })
    const sessions = world.ledger.queries
      .list({ limit: 9 })
      .map(({ input }) => (input.kind === 'chat' ? input.session : ''))
    expect(new Set(sessions).size).toBe(3)
    expect(sessions.every((session) => /^telegram:(ann|bob):[0-9a-f]{12}$/.test(session))).toBe(true)
  })

  test('is refused by the platform’s API while nobody can be told apart, and taken once that is mended', async () => {
    const world = await open()
    world.faults.peopleBroken = 'config/people.json line 3'
    await expect(world.fake.hear(aReceived({ id: 'x' }))).rejects.toMatchObject({ code: 'unprocessable' })
    expect(world.told()).toEqual([])
    world.faults.peopleBroken = null
    await world.fake.hear(aReceived({ id: 'x' }))
    expect(runCount(world)).toBe(1)
  })
})

describe('strangers', () => {
  test('are refused once with their id and what the owner types, and then hear nothing', async () => {
    const world = await open()
    for (const text of ['hi', 'hello?', '/agents', '@scout go']) await world.say(text, { senderId: '666' })
    expect(world.told()).toEqual([expect.stringContaining('flotilla people link NAME telegram:666')])
    expect(runCount(world)).toBe(0)
    expect(world.rows('SELECT * FROM channel_messages')).toHaveLength(1)
  })

  test('are told at a bounded rate, and are bounded rows', async () => {
    const world = await open()
    for (let n = 1; n <= 100; n++) await world.say('hi', { senderId: String(10_000 + n) })
    expect(world.told()).toHaveLength(10)
    expect(world.rows('SELECT * FROM channel_strangers')).toHaveLength(10)
    await world.clock.advance(60_001)
    await world.say('hi', { senderId: '77777' })
    expect(world.told()).toHaveLength(11)
  })
})

describe('pairing', () => {
  test('whoever shows the code first is the owner there, once', async () => {
    const world = await open({ people: [] })
    const { code } = world.codes.issue('telegram', issuer)
    await world.say(`/start ${code}`)
    expect(world.identityOf('telegram', '1000')).toBe('owner')
    expect(world.told()).toEqual([expect.stringContaining('You are owner here')])
    await world.say(code, { senderId: '2000' })
    expect(world.identityOf('telegram', '2000')).toBeNull()
  })

  test('a code opens nothing after ten minutes, after five wrong ones, or in a group', async () => {
    const world = await open({ people: [] })
    const late = world.codes.issue('telegram', issuer).code
    await world.clock.advance(10 * 60_000)
    await world.say(late)
    const guessed = world.codes.issue('telegram', issuer).code
    for (let n = 0; n < 5; n++) await world.say('AAAAAAAA')
    await world.say(guessed)
    const shown = world.codes.issue('telegram', issuer).code
    await world.say(shown, { place: { conversationId: '-1', threadId: null, isPrivate: false } })
    expect(world.people).toEqual([])
  })

  test('a code of one channel is of no use on another', async () => {
    const world = await open({ people: [] })
    const { code } = world.codes.issue('slack', issuer)
    await world.say(code)
    expect(world.people).toEqual([])
    expect(world.codes.isOpen('slack')).toBe(true)
  })
})

describe('commands', () => {
  test('@agent goes to that agent this once; /use and a button choose one for longer, over a restart', async () => {
    const world = await open()
    await world.say('@scout look around')
    await world.say('/use auditor')
    await world.say('check it')
    expect(world.ledger.queries.list({ limit: 9 }).map(({ agentId }) => agentId)).toEqual([
      'auditor',
      'scout',
    ])
    await world.stop()
    opened.pop()
    const again = await open({ of: world })
    await again.say('and now?', { id: 'after-1' })
    expect(again.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId: 'auditor' })
    await again.say('', { id: 'after-2', pressed: 'use:scout' })
    await again.say('to scout', { id: 'after-3' })
    expect(again.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId: 'scout' })
  })

  test.each([
    ['/help', /\/agents/],
    ['/agents', /scout: the scout/],
    ['/status', /3 agents, 0 at work/],
    ['/status scout', /USD 0\.25 today/],
    ['/costs', /Today USD 1\.50/],
    ['/pending', /Nothing waits/],
    ['/stop', /Nothing of yours/],
    ['/use', /Choose with \/use/],
    ['/nonsense', /There is no \/nonsense/],
    ['/use scuot', /did you mean scout/],
    ['@nobody hi', /there is no agent nobody/],
    ['/HELP@flotilla_bot', /\/agents/],
  ])('%s answers at once and is no run', async (text, answer) => {
    const world = await open()
    await world.say(text)
    expect(world.told()).toEqual([expect.stringMatching(answer)])
    expect(runCount(world)).toBe(0)
  })

  test('choices are buttons', async () => {
    const world = await open()
    await world.say('/use')
    expect(world.fake.messages()[0]?.buttons.map(({ value }) => value)).toEqual([
      'use:operator',
      'use:scout',
      'use:auditor',
    ])
  })

  test('/stop ends what the person asked for here, and nobody else’s', async () => {
    const world = await open({
      people: [ann, { name: 'bob', role: 'owner', identities: ['telegram:2000'] }],
    })
    await world.say('@scout mine')
    await world.say('@scout theirs', {
      senderId: '2000',
      place: { conversationId: '2000', threadId: null, isPrivate: true },
    })
    await world.say('/stop')
    expect(
      world.ledger.queries
        .list({ limit: 9 })
        .map(({ input, state }) => [input.kind === 'chat' && input.message, state]),
    ).toEqual([
      ['theirs', 'running'],
      ['mine', 'cancelled'],
    ])
    expect(world.told()).toContainEqual(expect.stringContaining('Stopped: scout'))
  })

  test('/steer adds to what the agent works on; where it is idle it begins, and is answered here', async () => {
    const world = await open()
    await world.say('@scout go')
    await world.say('/steer @scout to the left')
    expect(world.told()).toEqual([expect.stringContaining('who is at work')])
    await world.say('/steer @auditor begin')
    const run = world.ledger.queries.list({ agentId: 'auditor', limit: 1 })[0]
    expect(run?.origin).toMatchObject({ channel: 'telegram', user: 'ann' })
    world.agents.finish('auditor', { response: 'begun and done' })
    await world.clock.settle()
    expect(world.told().at(-1)).toMatch(/^\[auditor\]\s+begun and done$/)
  })

  test('/broadcast reaches every agent, and each answers', async () => {
    const world = await open()
    await world.say('/broadcast report')
    expect(
      world.ledger.queries
        .list({ limit: 9 })
        .map(({ agentId }) => agentId)
        .toSorted(),
    ).toEqual(['auditor', 'operator', 'scout'])
    for (const agentId of ['auditor', 'operator', 'scout']) world.agents.finish(agentId)
    await world.clock.settle()
    expect(world.told()).toHaveLength(4)
  })

  test('/reset archives the conversation, says so, and is done once more where a mesh died over it', async () => {
    const world = await open()
    await world.say('/reset scout')
    await world.clock.settle()
    expect(world.resets).toEqual(['scout telegram:ann'])
    expect(world.told()).toEqual([expect.stringContaining('3 messages are archived')])
    world.rows(
      "UPDATE channel_messages SET open = json_object('id', message_id, 'senderId', sender_id, 'place', json_object('conversationId', '1000', 'threadId', NULL, 'isPrivate', json('true')), 'text', '/reset scout', 'pressed', NULL, 'attachments', 0) RETURNING *",
    )
    const again = await open({ of: world })
    expect(again.resets).toEqual(['scout telegram:ann'])
    // It was told already, and is not told twice.
    expect(again.told()).toEqual([])
  })

  test('a viewer looks and changes nothing; a member acts on what is granted', async () => {
    heedsLesson(20)
    const world = await open({
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
      await world.say(text)
    }
    await world.say('/pending', { senderId: '2000' })
    await world.say('/broadcast x', { senderId: '2000' })
    await world.say('/steer @scout x', { senderId: '2000' })
    await world.say('@auditor go', { senderId: '2000' })
    expect(runCount(world)).toBe(0)
    expect(world.resets).toEqual([])
    await world.say('the only one there is for me', { senderId: '2000' })
    expect(world.ledger.queries.list({ limit: 9 }).map(({ agentId }) => agentId)).toEqual(['scout'])
    await world.say('/agents')
    expect(world.told().at(-1)).toContain('auditor')
  })
})

test('a name that there is not is told with the nearest, as a sentence that ends once', async () => {
  const world = await open()
  await world.say('@scot go')
  await world.say('/use nobody-like-it')
  expect(world.told()).toEqual([
    'That was not done: there is no agent scot; did you mean scout?',
    'That was not done: there is no agent nobody-like-it.',
  ])
})

test.each([
  ['/approve 7', 'flotilla pending'],
  ['/DENY 7', 'flotilla pending'],
  ['/credentials set x', 'flotilla credentials'],
  ['/allow @scout everything', 'flotilla permissions'],
  ['/approver', 'There is no /approver; /help names all.'],
])('%s changes nothing, and says where that is done', async (text, where) => {
  const world = await open()
  await world.say(text)
  expect(world.told()).toEqual([expect.stringContaining(where)])
  expect(world.told()[0]?.includes('There is no')).toBe(where.includes('There is no'))
  expect(runCount(world)).toBe(0)
})

test.each([
  ['@auditor go', 'submit-run'],
  ['/use auditor', 'submit-run'],
  ['/steer @scout x', 'call-route'],
  ['/reset auditor', 'submit-run'],
  ['/broadcast x', 'call-route'],
  ['/pending', 'call-route'],
])('that %s was refused to a member stays on record', async (text, subject) => {
  heedsLesson(20)
  const world = await open({
    people: [{ name: 'max', role: 'member', agents: ['scout'], identities: ['telegram:1000'] }],
  })
  await world.say(text)
  expect(world.told()).toEqual([expect.stringMatching(/That was not done/)])
  expect(world.rows("SELECT subject FROM journal WHERE action = 'permission.denied'")).toEqual([{ subject }])
})

describe('a flood', () => {
  test('of one person is bounded a minute, told once, and leaves no rows', async () => {
    const world = await open({ perMinute: 5 })
    for (let n = 0; n < 1000; n++) await world.fake.hear(aReceived({ id: `flood-${n}`, text: '/help' }))
    await world.clock.settle()
    expect(world.rows('SELECT * FROM channel_messages')).toHaveLength(6)
    expect(world.told().filter((text) => text.includes('too much at once'))).toHaveLength(1)
  })

  test('of runs is bounded before the lane; others still find room', async () => {
    const world = await open({
      people: [ann, { name: 'bob', role: 'owner', identities: ['telegram:2000'] }],
    })
    for (let n = 0; n < 12; n++) await world.say(`@scout ${n}`)
    expect(runCount(world)).toBe(5)
    expect(world.told()).toHaveLength(7)
    await world.say('@scout me too', { senderId: '2000' })
    expect(runCount(world)).toBe(6)
  })

  test('thirty people at once all find room, and each waits for a part of the lane', async () => {
    const people = Array.from({ length: 30 }, (_, n) => ({
      name: `p${n}`,
      role: 'member' as const,
      agents: ['scout'],
      identities: [`telegram:${5000 + n}`],
    }))
    const world = await open({ people })
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 30; n++)
        await world.say(`round ${round}`, {
          senderId: String(5000 + n),
          place: { conversationId: String(5000 + n), threadId: null, isPrivate: true },
        })
    }
    const counts = world
      .rows('SELECT count(*) AS count FROM channel_runs GROUP BY person')
      .map(({ count }) => Number(count))
    expect(counts).toHaveLength(30)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1)
    expect(Math.max(...counts)).toBeLessThanOrEqual(5)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(60)
  })
})
