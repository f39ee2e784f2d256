import { afterEach, describe, expect, test } from 'vitest'
import { aChannelHarness, ann, issuer } from '../testing/channel-harness.ts'
import type { ChannelHarnessOptions } from '../testing/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../testing/fake-channel.ts'
import { channelLimits, sendBackOffMs } from './channel-limits.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}) {
  const fake = createFakeAdapter({ editEveryMs: null })
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  opened.push(harness)
  let count = 0
  /** Said by one person alone with us. */
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
const ends = (world: Harness) => world.rows('SELECT person, state, detail FROM channel_letters')

describe('strangers', () => {
  test('who guess codes use up their own tries and not the owner’s', async () => {
    const world = await open({ people: [] })
    const { code } = world.codes.issue('telegram', issuer)
    for (const sender of strangers(400)) {
      for (let n = 0; n < 5; n++) await world.say(sender, 'AAAAAAAA')
    }
    expect(world.codes.find('telegram')).toMatchObject({ state: 'open', wrong_tries: 2000 })
    await world.say('100000', code)
    expect(world.people, 'the code opens nothing to one who guessed five times').toEqual([])
    await world.say('1000', code)
    await world.clock.settle()
    expect(world.codes.find('telegram')).toMatchObject({ state: 'paired', detail: 'owner (telegram:1000)' })
    expect(world.identityOf('telegram', '1000')).toBe('owner')
    expect(world.toldTo('1000')).toEqual([expect.stringContaining('You are owner here')])
  })

  test('who flood a channel keep nobody else from being heard, answered, paired and told', async () => {
    const world = await open()
    for (const sender of strangers(2000)) await world.say(sender, 'hello')
    await world.clock.settle()
    expect(world.fake.messages()).toHaveLength(channelLimits.strangersToldPerMinute / 2)
    await world.say('1000', '/help')
    const { code } = world.codes.issue('telegram', issuer)
    await world.say('2000', code)
    await world.clock.settle()
    expect(world.toldTo('1000')).toEqual([expect.stringContaining('/agents')])
    expect(world.identityOf('telegram', '2000')).toBe('owner')
  })

  test('who ask again are told how to be let in while others flood the channel, and no more in a minute than are bounded', async () => {
    const world = await open()
    for (const sender of strangers(1000)) await world.say(sender, 'hello')
    await world.say('3000', 'may I come in?')
    await world.clock.settle()
    expect(world.toldTo('3000')).toEqual([])
    await world.say('3000', 'hello?')
    await world.clock.settle()
    expect(world.toldTo('3000')).toEqual([expect.stringContaining('telegram:3000')])
    for (const sender of strangers(1000)) await world.say(sender, 'hello again')
    await world.clock.settle()
    expect(world.fake.messages()).toHaveLength(channelLimits.strangersToldPerMinute)
    await world.clock.advance(60_001)
    await world.say('4000', 'and I?')
    await world.clock.settle()
    expect(world.toldTo('4000')).toEqual([expect.stringContaining('telegram:4000')])
  })

  test('who came for weeks are forgotten for those who come now', async () => {
    const world = await open()
    const { strangersMax } = channelLimits
    const old = world.clock.now() - 60_001
    for (const sender of strangers(strangersMax)) {
      world.database
        .prepare('INSERT INTO channel_strangers (channel, sender_id, refused_at) VALUES (?, ?, ?)')
        .run('telegram', sender, old + Number(sender) - 200_000)
    }
    await world.say('3000', 'may I come in?')
    await world.clock.settle()
    expect(world.toldTo('3000')).toEqual([expect.stringContaining('telegram:3000')])
    const kept = world.rows('SELECT sender_id FROM channel_strangers').map(({ sender_id: id }) => id)
    expect(kept).toHaveLength(strangersMax)
    expect(kept).toContain('3000')
    expect(kept).not.toContain('100000')
  })
})

describe('one who was let go', () => {
  const bob = { name: 'bob', role: 'owner' as const, identities: ['telegram:2000'] }

  /** What is said to Bob waits, since the platform does not answer. */
  async function waiting(text: string, more: Partial<ChannelHarnessOptions> = {}) {
    const world = await open({ people: [ann, bob], ...more })
    world.fake.platform.failNext('unreachable')
    await world.say('2000', text)
    await world.clock.settle()
    return world
  }
  const letGo = (world: Harness) =>
    void world.people.splice(
      world.people.findIndex(({ name }) => name === 'bob'),
      1,
    )

  test('is not told what waited for them, and the row says so', async () => {
    const world = await waiting('/status')
    letGo(world)
    await world.clock.advance(sendBackOffMs.first)
    expect(world.toldTo('2000')).toEqual([])
    expect(ends(world)).toEqual([
      { person: 'bob', state: 'dropped', detail: 'for whom it was is not let in any more' },
    ])
  })

  test('is not told the outcome that waited, and the ledger knows that it was not', async () => {
    const world = await waiting('@scout go')
    world.agents.finish('scout', { response: 'the secret' })
    await world.clock.settle()
    letGo(world)
    await world.clock.advance(sendBackOffMs.first)
    expect(world.fake.messages()).toEqual([])
    expect(ends(world)).toMatchObject([{ person: 'bob', state: 'dropped' }])
    expect(world.rows('SELECT state FROM outbox')).toEqual([{ state: 'undeliverable' }])
  })

  test('is told nothing either whose account is somebody else’s now', async () => {
    const world = await waiting('/status')
    letGo(world)
    world.people.push({ ...world.people[0]!, name: 'eve', identities: ['telegram:2000'] })
    await world.clock.advance(sendBackOffMs.first)
    expect(world.toldTo('2000')).toEqual([])
  })

  test('and others are told all the same', async () => {
    const world = await waiting('/status')
    world.fake.platform.failNext('unreachable')
    await world.say('1000', '/status')
    await world.clock.settle()
    letGo(world)
    await world.clock.advance(2 * sendBackOffMs.first)
    expect(world.toldTo('1000')).toHaveLength(1)
  })
})

describe('what cannot be seen', () => {
  test.each([
    ['@sc\u200Bout go', 'scout', 'go'],
    ['\u2066@scout\u2069 go\u{E0041}\u{E0042}', 'scout', 'go'],
    ['@operator \u202Etxt', 'operator', 'txt'],
  ])('is no part of whom %j is for', async (text, agentId, message) => {
    const world = await open()
    await world.say('1000', text)
    expect(world.ledger.queries.list({ limit: 1 })[0]).toMatchObject({ agentId, input: { message } })
  })

  test('is no part of a command or of a code', async () => {
    const world = await open()
    await world.say('1000', '/he\u200Blp')
    await world.say('1000', '\u200F\u200E\u2060')
    const { code } = world.codes.issue('telegram', issuer)
    await world.say('2000', `${code.slice(0, 4)}\u200B${code.slice(4)}`)
    await world.clock.settle()
    expect(world.toldTo('1000')).toEqual([expect.stringContaining('/agents')])
    expect(world.identityOf('telegram', '2000')).toBe('owner')
  })
})
