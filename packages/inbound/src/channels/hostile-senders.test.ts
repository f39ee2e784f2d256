import { describe, expect, onTestFinished, test } from 'vitest'
import { aChannelHarness, ann, issuer } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import { channelLimits, sendBackoff } from './channel-limits.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

async function open(more: Partial<ChannelHarnessOptions> = {}) {
  const fake = createFakeAdapter({ editEveryMs: null })
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  onTestFinished(() => harness.stop())
  let count = 0
  /** A direct message of one person. */
  const say = (senderId: string, text: string) => {
    const place = { conversationId: senderId, threadId: null, isPrivate: true }
    return fake.hear(aReceived({ id: `said-${++count}`, senderId, text, place }))
  }
  const toldTo = (conversation: string) =>
    fake
      .messages()
      .filter(({ place }) => place.conversationId === conversation)
      .map(({ text }) => text)
  return { ...harness, fake, say, toldTo }
}

const strangers = (count: number) => Array.from({ length: count }, (_, n) => String(100_000 + n))
const ends = (setup: Harness) => setup.rows('SELECT person, state, detail FROM channel_letters')

describe('hostile strangers', () => {
  test('strangers who guess codes use up only their own attempts', async () => {
    const setup = await open({ people: [] })
    const { code } = setup.codes.issue('telegram', issuer)
    for (const sender of strangers(400)) {
      for (let n = 0; n < 5; n++) await setup.say(sender, 'AAAAAAAA')
    }
    expect(setup.codes.find('telegram')).toMatchObject({ state: 'open', wrong_tries: 2000 })
    await setup.say('100000', code)
    expect(setup.people, 'the code opens nothing to one who guessed five times').toEqual([])
    await setup.say('1000', code)
    await setup.clock.settle()
    expect(setup.codes.find('telegram')).toMatchObject({ state: 'paired', detail: 'owner (telegram:1000)' })
    expect(setup.identityOf('telegram', '1000')).toBe('owner')
    expect(setup.toldTo('1000')).toEqual([expect.stringContaining('You are owner here')])
  })

  test('strangers who flood a channel block no messages, answers, pairing or notices of others', async () => {
    const setup = await open()
    for (const sender of strangers(2000)) await setup.say(sender, 'hello')
    await setup.clock.settle()
    expect(setup.fake.messages()).toHaveLength(channelLimits.strangersAnsweredPerMinute / 2)
    await setup.say('1000', '/help')
    const { code } = setup.codes.issue('telegram', issuer)
    await setup.say('2000', code)
    await setup.clock.settle()
    expect(setup.toldTo('1000')).toEqual([expect.stringContaining('/agents')])
    expect(setup.identityOf('telegram', '2000')).toBe('owner')
  })

  test('strangers who ask again during a flood learn how to get access, within the limit per minute', async () => {
    const setup = await open()
    for (const sender of strangers(1000)) await setup.say(sender, 'hello')
    await setup.say('3000', 'may I come in?')
    await setup.clock.settle()
    expect(setup.toldTo('3000')).toEqual([])
    await setup.say('3000', 'hello?')
    await setup.clock.settle()
    expect(setup.toldTo('3000')).toEqual([expect.stringContaining('telegram:3000')])
    for (const sender of strangers(1000)) await setup.say(sender, 'hello again')
    await setup.clock.settle()
    expect(setup.fake.messages()).toHaveLength(channelLimits.strangersAnsweredPerMinute)
    await setup.clock.advance(60_001)
    await setup.say('4000', 'and I?')
    await setup.clock.settle()
    expect(setup.toldTo('4000')).toEqual([expect.stringContaining('telegram:4000')])
  })

  test('strangers of earlier weeks are forgotten in favor of new ones', async () => {
    const setup = await open()
    const { strangersMax } = channelLimits
    const old = setup.clock.now() - 60_001
    for (const sender of strangers(strangersMax)) {
      setup.database
        .prepare('INSERT INTO channel_strangers (channel, sender_id, refused_at) VALUES (?, ?, ?)')
        .run('telegram', sender, old + Number(sender) - 200_000)
    }
    await setup.say('3000', 'may I come in?')
    await setup.clock.settle()
    expect(setup.toldTo('3000')).toEqual([expect.stringContaining('telegram:3000')])
    const kept = setup.rows('SELECT sender_id FROM channel_strangers').map(({ sender_id: id }) => id)
    expect(kept).toHaveLength(strangersMax)
    expect(kept).toContain('3000')
    expect(kept).not.toContain('100000')
  })
})

describe('a removed person', () => {
  const bob = { name: 'bob', role: 'owner' as const, identities: ['telegram:2000'] }

  /** Letters to Bob wait, because the platform does not respond. */
  async function waiting(text: string, more: Partial<ChannelHarnessOptions> = {}) {
    const setup = await open({ people: [ann, bob], ...more })
    setup.fake.platform.failNext('unreachable')
    await setup.say('2000', text)
    await setup.clock.settle()
    return setup
  }
  const proceed = (setup: Harness) =>
    void setup.people.splice(
      setup.people.findIndex(({ name }) => name === 'bob'),
      1,
    )

  test('waiting letters to a removed person are dropped, and their rows say so', async () => {
    const setup = await waiting('/status')
    proceed(setup)
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.toldTo('2000')).toEqual([])
    expect(ends(setup)).toEqual([
      { person: 'bob', state: 'dropped', detail: 'the recipient no longer has access' },
    ])
  })

  test('a waiting outcome for a removed person is dropped, and the ledger records it', async () => {
    const setup = await waiting('@scout go')
    setup.agents.finish('scout', { response: 'the secret' })
    await setup.clock.settle()
    proceed(setup)
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.fake.messages()).toEqual([])
    expect(ends(setup)).toMatchObject([{ person: 'bob', state: 'dropped' }])
    expect(setup.rows('SELECT state FROM outbox')).toEqual([{ state: 'undeliverable' }])
  })

  test('a person whose account belongs to another person now gets nothing', async () => {
    const setup = await waiting('/status')
    proceed(setup)
    setup.people.push({ ...setup.people[0]!, name: 'eve', identities: ['telegram:2000'] })
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.toldTo('2000')).toEqual([])
  })

  test('letters to other people are still sent after a removal', async () => {
    const setup = await waiting('/status')
    setup.fake.platform.failNext('unreachable')
    await setup.say('1000', '/status')
    await setup.clock.settle()
    proceed(setup)
    await setup.clock.advance(2 * sendBackoff.firstMs)
    expect(setup.toldTo('1000')).toHaveLength(1)
  })
})

describe('invisible characters', () => {
  test.each([
    ['@sc\u200Bout go', 'scout', 'go'],
    ['\u2066@scout\u2069 go\u{E0041}\u{E0042}', 'scout', 'go'],
    ['@operator \u202Etxt', 'operator', 'txt'],
  ])('invisible characters do not change the recipient of %j', async (text, agentId, message) => {
    const setup = await open()
    await setup.say('1000', text)
    expect(setup.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId, input: { message } })
  })

  test('invisible characters do not change a command or a code', async () => {
    const setup = await open()
    await setup.say('1000', '/he\u200Blp')
    await setup.say('1000', '\u200F\u200E\u2060')
    const { code } = setup.codes.issue('telegram', issuer)
    await setup.say('2000', `${code.slice(0, 4)}\u200B${code.slice(4)}`)
    await setup.clock.settle()
    expect(setup.toldTo('1000')).toEqual([expect.stringContaining('/agents')])
    expect(setup.identityOf('telegram', '2000')).toBe('owner')
  })
})
