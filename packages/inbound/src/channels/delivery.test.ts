import { afterEach, describe, expect, test } from 'vitest'
import { aChannelHarness } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import type { FakeChannel } from '../../../testing/src/fake-channel.ts'
import { repeatMark } from './adapter.ts'
import { channelLimits, sendBackoff } from './channel-limits.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(fake: FakeChannel, more: Partial<ChannelHarnessOptions> = {}) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  opened.push(harness)
  const sentTexts = () => fake.messages().map(({ text }) => text)
  return { ...harness, fake, told: sentTexts }
}

/** A run that Ann requested has ended, and its outcome must be sent. */
async function answered(
  setup: Awaited<ReturnType<typeof open>>,
  response: string,
  id = 'asked',
): Promise<void> {
  await setup.fake.hear(aReceived({ id, text: '@scout go' }))
  await setup.clock.settle()
  setup.agents.finish('scout', { response })
  await setup.clock.settle()
}

const letters = (setup: Harness) =>
  setup.rows('SELECT state, pieces_out, begun_piece, attempts, detail FROM channel_letters')

describe('the delivery of letters', () => {
  test('a letter counts as delivered only after the platform confirmed it', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    fake.platform.failNext('unreachable')
    await answered(setup, 'done')
    expect(fake.messages()).toEqual([])
    expect(setup.openNotes()).toEqual([{ source: expect.stringMatching(/^run:/), state: 'pending' }])
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.told()).toEqual([expect.stringContaining('done')])
    expect(setup.openNotes()).toEqual([])
  })

  test('a letter that causes internal errors blocks later ones for a day at most', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const send: typeof fake.adapter.send = (message, signal) =>
      message.text.includes('cursed')
        ? Promise.reject(new TypeError('x'))
        : fake.adapter.send(message, signal)
    const setup = await open({ ...fake, adapter: { ...fake.adapter, send } })
    await answered(setup, 'cursed')
    await setup.fake.hear(aReceived({ id: 'behind', text: '/help' }))
    await setup.clock.advance(30_000)
    expect(setup.told()).toEqual([])
    // Simulates the internal errors without the delays between them.
    setup.rows('UPDATE channel_letters SET created_at = created_at - 24 * 3600 * 1000')
    await setup.clock.advance(10_000)
    expect(setup.told()).toEqual([expect.stringContaining('/help')])
    expect(letters(setup)[0]).toMatchObject({
      state: 'failed',
      detail: 'given up after 24 hours: internal error; see the log of the mesh',
    })
  })

  test('a letter is repeated under the same id, without a mark if the platform deduplicates', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    fake.platform.failNext('cut-after')
    await answered(setup, 'done')
    await setup.clock.advance(sendBackoff.firstMs)
    expect(new Set(fake.calls().map(({ clientId }) => clientId)).size).toBe(1)
    expect(fake.calls()).toHaveLength(2)
    expect(setup.told()).toEqual([expect.not.stringContaining(repeatMark)])
    expect(fake.calls()[0]?.clientId).toMatch(/^[a-z0-9_-]{1,64}$/)
  })

  test('a repeat is marked only if the previous attempt is unsure', async () => {
    const fake = createFakeAdapter({ editEveryMs: null, dropsRepeats: false })
    const setup = await open(fake)
    fake.platform.failNext('cut-after')
    await answered(setup, 'unsure')
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.told()).toEqual([
      expect.not.stringContaining(repeatMark),
      expect.stringMatching(/^\(may be a repeat\) \[scout\]/),
    ])
    fake.platform.failNext('unreachable')
    await answered(setup, 'certain', 'second')
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.told().filter((text) => text.includes('certain'))).toEqual([
      expect.not.stringContaining(repeatMark),
    ])
  })

  test('after a crash a letter continues with the first part that was not delivered', async () => {
    const fake = createFakeAdapter({ editEveryMs: null, dropsRepeats: false })
    const setup = await open(fake)
    const long = Array.from({ length: 12 }, (_, n) => `Part ${n}. ${'words '.repeat(170)}`).join('\n\n')
    await answered(setup, long)
    const pieces = fake.messages().length
    expect(pieces).toBeGreaterThan(2)
    await setup.stop()
    opened.pop()
    // The state after a crash between sending the second part and recording it.
    setup.rows("UPDATE channel_letters SET state = 'open', pieces_out = 1, begun_piece = 1 RETURNING id")
    const later = createFakeAdapter({ editEveryMs: null, dropsRepeats: false })
    const again = await open(later, { of: setup })
    expect(again.told()).toHaveLength(pieces - 1)
    expect(again.told().map((text) => text.startsWith(repeatMark))).toEqual([
      true,
      ...Array.from({ length: pieces - 2 }, () => false),
    ])
    expect(later.messages()[0]?.clientId).toBe(fake.messages()[1]?.clientId)
    expect(later.messages().every(({ text }) => text.length <= 4096)).toBe(true)
  })

  test("every part has the agent's name and its own id", async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    await answered(
      setup,
      Array.from({ length: 12 }, (_, n) => `Part ${n}. ${'words '.repeat(170)}`).join('\n\n'),
    )
    const ids = fake.messages().map(({ clientId }) => clientId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(setup.told().every((text) => text.startsWith('[scout]'))).toBe(true)
  })

  test('a first attempt has no repeat mark, however long the markup makes it', async () => {
    const fake = createFakeAdapter({ editEveryMs: null, dropsRepeats: false })
    const setup = await open(fake)
    await answered(setup, '<&>'.repeat(1200))
    expect(setup.told()).toHaveLength(1)
    expect(setup.told()[0]?.length).toBeGreaterThan(4096)
    expect(setup.told()[0]).not.toContain(repeatMark.trim())
  })

  test('a letter waits as long as the platform asks, and blocks no other conversation', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    fake.platform.failNext('rate-limited')
    await answered(setup, 'late')
    await fake.hear(
      aReceived({
        id: 'other',
        text: '/help',
        place: { conversationId: '77', threadId: null, isPrivate: true },
      }),
    )
    await setup.clock.settle()
    expect(fake.messages().map(({ place }) => place.conversationId)).toEqual(['77'])
    await setup.clock.advance(1999)
    expect(fake.messages()).toHaveLength(1)
    await setup.clock.advance(1)
    expect(fake.messages().map(({ place }) => place.conversationId)).toEqual(['77', '1000'])
  })

  test('letters of one conversation stay in order, whatever fails', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    fake.platform.failNext('unreachable')
    for (const [n, text] of ['/status', '/help', '/costs'].entries()) {
      await fake.hear(aReceived({ id: `o${n}`, text }))
    }
    await setup.clock.advance(sendBackoff.firstMs)
    expect(setup.told()).toEqual([
      expect.stringContaining('3 agents'),
      expect.stringContaining('/broadcast'),
      expect.stringContaining('Today'),
    ])
  })

  test.each(['gone', 'refused'] as const)(
    'a letter that is %s is not retried for ever and stays visible',
    async (how) => {
      const fake = createFakeAdapter({ editEveryMs: null })
      const setup = await open(fake)
      fake.platform.failNext(how)
      await answered(setup, 'no subscriber')
      await setup.clock.advance(3_600_000)
      expect(fake.calls()).toHaveLength(1)
      expect(letters(setup)).toMatchObject([{ state: 'failed' }])
      expect(setup.openNotes()).toEqual([{ source: expect.stringMatching(/^run:/), state: 'undeliverable' }])
    },
  )

  test('a letter is retried with backoff and fails after a day', async () => {
    const typing = createFakeAdapter({ editEveryMs: null })
    // Otherwise a day would need many thousands of typing checks.
    const { showTyping: _none, ...adapter } = typing.adapter
    const fake = { ...typing, adapter }
    const setup = await open(fake)
    for (let n = 0; n < 1000; n++) fake.platform.failNext('unreachable')
    await answered(setup, 'never')
    const hourMs = 3_600_000
    await setup.clock.advance(hourMs)
    // Skips from one attempt to the next.
    for (let ms = hourMs; ms <= channelLimits.letterHoursMax * hourMs; ms += sendBackoff.maxMs)
      await setup.clock.leap(sendBackoff.maxMs)
    expect(letters(setup)).toMatchObject([{ state: 'failed', detail: expect.stringContaining('24 hours') }])
    expect(fake.calls().length).toBeLessThan(320)
    expect(fake.calls().length).toBeGreaterThan(200)
  })

  test('a person who was removed while an agent worked for them gets no outcome', async () => {
    const fake = createFakeAdapter({ editEveryMs: 500 })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    setup.people.splice(0)
    setup.agents.say('scout', { type: 'text_delta', content: 'a secret' })
    await setup.clock.settle()
    await setup.clock.advance(700)
    setup.agents.finish('scout', { response: 'a secret' })
    await setup.clock.advance(5000)
    expect(fake.calls()).toEqual([])
  })

  test('an outcome reports the failure from the ledger, and an empty one has a text', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    await answered(setup, '', 'quiet')
    await fake.hear(aReceived({ id: 'stopped', text: '@scout go' }))
    await fake.hear(aReceived({ id: 'stop', text: '/stop' }))
    await setup.clock.settle()
    expect(setup.told()).toContainEqual(expect.stringContaining('without a text'))
    expect(setup.told()).toContainEqual(expect.stringMatching(/\(cancelled\)/))
  })
})

test('old rows of every kind are deleted', async () => {
  const fake = createFakeAdapter({ editEveryMs: null })
  const setup = await open(fake)
  await answered(setup, 'done')
  await fake.hear(aReceived({ id: 'stranger', senderId: '666' }))
  await setup.clock.settle()
  await setup.clock.leap((channelLimits.talksKeptDays + 1) * 24 * 3_600_000)
  setup.desk.maintain()
  const left = ['messages', 'runs', 'talks', 'strangers', 'letters'].map((name) => [
    name,
    setup.rows(`SELECT * FROM channel_${name}`).length,
  ])
  expect(Object.fromEntries(left)).toEqual({ messages: 0, runs: 0, talks: 0, strangers: 0, letters: 0 })
})

describe('live text while an agent works', () => {
  test('the text of an agent is shown by edits of one message, which becomes the answer', async () => {
    const fake = createFakeAdapter({ editEveryMs: 500 })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    setup.agents.say('scout', { type: 'text_delta', content: 'I look' })
    await setup.clock.settle()
    await setup.clock.advance(700)
    expect(setup.told()).toEqual([expect.stringMatching(/^\[scout\]\s+I look …$/)])
    setup.agents.say('scout', { type: 'text_delta', content: ' around' })
    await setup.clock.settle()
    await setup.clock.advance(500)
    expect(setup.told()).toEqual([expect.stringMatching(/I look around …$/)])
    setup.agents.finish('scout', { response: 'I looked around: nothing.' })
    await setup.clock.settle()
    expect(setup.told()).toEqual([expect.stringMatching(/^\[scout\]\s+I looked around: nothing\.$/)])
    expect(setup.openNotes()).toEqual([])
  })

  test("a hundred words a second cause edits at the platform's pace", async () => {
    const fake = createFakeAdapter({ editEveryMs: 1000 })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    for (let n = 0; n < 300; n++) {
      setup.agents.say('scout', { type: 'text_delta', content: `word${n} ` })
      await setup.clock.advance(10)
    }
    expect(fake.edits()).toBeLessThanOrEqual(3)
    expect(fake.messages()).toHaveLength(1)
  })

  test('a failed edit loses nothing of the answer', async () => {
    const fake = createFakeAdapter({ editEveryMs: 500 })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    setup.agents.say('scout', { type: 'text_delta', content: 'half' })
    await setup.clock.settle()
    fake.platform.failNext('rate-limited')
    await setup.clock.advance(5000)
    setup.agents.finish('scout', { response: 'whole' })
    await setup.clock.settle()
    expect(setup.told()).toEqual([expect.stringMatching(/whole$/)])
  })

  test.each(['gone', 'refused'] as const)(
    'the answer is sent again if the message with the live text is %s',
    async (how) => {
      const fake = createFakeAdapter({ editEveryMs: 500 })
      const setup = await open(fake)
      await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
      await setup.clock.settle()
      setup.agents.say('scout', { type: 'text_delta', content: 'half' })
      await setup.clock.settle()
      await setup.clock.advance(700)
      fake.platform.failNext(how)
      setup.agents.finish('scout', { response: 'whole' })
      await setup.clock.settle()
      expect(setup.told().at(-1)).toMatch(/whole$/)
      expect(setup.openNotes()).toEqual([])
      expect(letters(setup)).toMatchObject([{ state: 'sent' }])
    },
  )

  test('text that arrives after the answer does not change it', async () => {
    const fake = createFakeAdapter({ editEveryMs: 500 })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    const [run] = setup.ledger.queries.list({ limit: 1 })
    setup.agents.say('scout', { type: 'text_delta', content: 'half' })
    await setup.clock.settle()
    await setup.clock.advance(700)
    setup.agents.finish('scout', { response: 'whole' })
    await setup.clock.settle()
    const late = { type: 'text.streamed', agent_id: 'scout', run_id: run?.id ?? '', content: 'late' } as const
    setup.events.publish(late)
    await setup.clock.advance(5000)
    expect(setup.told()).toEqual([expect.stringMatching(/whole$/)])
  })

  test('the typing indicator is shown while the agent works, and not afterwards', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    await setup.clock.advance(8000)
    expect(fake.typings()).toBe(2)
    setup.agents.finish('scout')
    await setup.clock.settle()
    await setup.clock.advance(8000)
    expect(fake.typings()).toBe(2)
  })

  test('a live message from before a crash becomes the answer', async () => {
    const fake = createFakeAdapter({ editEveryMs: 500, dropsRepeats: false })
    const setup = await open(fake)
    await fake.hear(aReceived({ id: 'asked', text: '@scout go' }))
    await setup.clock.settle()
    setup.agents.say('scout', { type: 'text_delta', content: 'half' })
    await setup.clock.settle()
    await setup.clock.advance(700)
    await setup.stop()
    opened.pop()
    const again = await open(fake, { of: setup })
    again.agents.finish('scout', { response: 'whole' })
    await again.clock.settle()
    await again.clock.advance(5000)
    expect(again.told()).toEqual([expect.stringMatching(/whole$/)])
  })
})
