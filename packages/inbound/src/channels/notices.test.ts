import { afterEach, describe, expect, test } from 'vitest'
import { aChannelHarness, ann, issuer } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import { channelLimits } from './channel-limits.ts'
import { noticeOf, sendAt } from './delivery/notice-text.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}) {
  const fake = createFakeAdapter({ editEveryMs: null })
  const harness = await aChannelHarness({ adapters: [fake.adapter], notices: { to: ['telegram'] }, ...more })
  opened.push(harness)
  const sentTexts = () => fake.messages().map(({ text }) => text)
  /** Ann is linked in the conversation that gets her messages. */
  await fake.hear(aReceived({ id: 'came', text: '/help' }))
  await harness.clock.settle()
  const note = async (message: string, agent = 'scout') => {
    harness.events.publish({ type: 'note.added', note_id: 'note_1', agent_id: agent, message })
    await harness.clock.settle()
  }
  return { ...harness, fake, told: sentTexts, note }
}

describe('notices to owners', () => {
  test("a note of an agent is sent to the owner's chosen channel, once a day for the same text", async () => {
    const harness = await open()
    await harness.note('the disk is nearly full')
    await harness.note('the disk is nearly full')
    await harness.note('now it is')
    expect(harness.told().slice(1)).toEqual(['[scout] the disk is nearly full', '[scout] now it is'])
  })

  test('an owner who has only sent the pairing code gets notices', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const harness = await aChannelHarness({
      adapters: [fake.adapter],
      notices: { to: ['telegram'] },
      people: [],
    })
    opened.push(harness)
    const { code } = harness.codes.issue('telegram', issuer)
    await fake.hear(aReceived({ text: `/start ${code}` }))
    harness.events.publish({ type: 'note.added', note_id: 'note_1', agent_id: 'scout', message: 'look here' })
    await harness.clock.settle()
    expect(fake.messages().map(({ text }) => text)).toEqual([
      expect.stringContaining('You are owner here'),
      '[scout] look here',
    ])
  })

  test('another quarantine of an agent causes another notice', async () => {
    const harness = await open()
    const added = { type: 'note.added', agent_id: 'scout', message: 'in quarantine', by: 'mesh' } as const
    for (const id of ['note_1', 'note_2']) harness.events.publish({ ...added, note_id: id })
    await harness.clock.settle()
    expect(harness.told().filter((text) => text.includes('in quarantine'))).toHaveLength(2)
  })

  test('two approvals or hand-offs cause two notices, however similar they are', async () => {
    const harness = await open()
    const asked = { type: 'approval.asked', agent_id: 'scout', run_id: null, expires_at: 1 } as const
    for (const id of ['appr_1', 'appr_2'])
      harness.events.publish({ ...asked, approval_id: id, summary: 'delete auditor' })
    const task = { type: 'task.changed', assignee: 'scout', creator: 'operator', title: 'Report' } as const
    for (const id of ['task_1', 'task_2', 'task_2'])
      harness.events.publish({ ...task, task_id: id, state: 'done' })
    await harness.clock.settle()
    expect(harness.told().filter((text) => text.includes('delete auditor'))).toHaveLength(2)
    expect(harness.told().filter((text) => text.includes('is done'))).toHaveLength(2)
  })

  test('no notice is sent without a chosen channel, for other kinds, or to people who are not owners', async () => {
    for (const options of [
      { notices: {} },
      { notices: { to: ['telegram' as const], about: ['budgets' as const] } },
      { people: [{ ...ann, role: 'member' as const }] },
    ]) {
      const harness = await open(options)
      await harness.note('hello')
      expect(harness.told().filter((text) => text.includes('hello'))).toEqual([])
    }
  })

  test('a group never gets a notice', async () => {
    const fake = createFakeAdapter({ editEveryMs: null })
    const harness = await aChannelHarness({ adapters: [fake.adapter], notices: { to: ['telegram'] } })
    opened.push(harness)
    await fake.hear(
      aReceived({ text: '/help', place: { conversationId: '-5', threadId: null, isPrivate: false } }),
    )
    harness.events.publish({ type: 'note.added', note_id: 'note_1', agent_id: 'scout', message: 'a secret' })
    await harness.clock.settle()
    expect(fake.messages().filter(({ text }) => text.includes('a secret'))).toEqual([])
  })

  test('events during an interruption of the channel are sent afterwards, and none twice', async () => {
    const harness = await open()
    await harness.note('before')
    await harness.stop()
    opened.pop()
    harness.events.publish({ type: 'note.added', note_id: 'note_2', agent_id: 'scout', message: 'meanwhile' })
    const again = await open({ of: harness })
    expect(again.told()).toContain('[scout] meanwhile')
    expect(again.told().filter((text) => text.includes('before'))).toEqual([])
  })

  test('quiet hours delay notices, but not answers', async () => {
    const harness = await open({ notices: { to: ['telegram'], quiet_hours: { from: '00:00', to: '23:59' } } })
    const before = harness.told().length
    await harness.note('not now')
    await harness.fake.hear(aReceived({ id: 'asked', text: '/status' }))
    await harness.clock.settle()
    expect(harness.told().slice(before)).toEqual([expect.stringContaining('3 agents')])
    await harness.clock.leap(25 * 3_600_000)
    await harness.clock.settle()
    expect(harness.told()).toContain('[scout] not now')
  })

  test('notices go to the identity that is linked to the owner now', async () => {
    const harness = await open()
    const place = { conversationId: '2000', threadId: null, isPrivate: true }
    Object.assign(harness.people[0] ?? {}, { identities: ['telegram:2000'] })
    await harness.note('before they spoke')
    await harness.fake.hear(aReceived({ id: 'new', text: '/help', senderId: '2000', place }))
    await harness.note('a secret')
    const told = harness.fake.messages().filter(({ text }) => text.startsWith('[scout]'))
    expect(told.map(({ place: at, text }) => [at.conversationId, text])).toEqual([
      ['2000', '[scout] a secret'],
    ])
  })

  test('the notices of a busy agent are limited, say so, and delay no answers or other kinds', async () => {
    const harness = await open()
    for (let n = 0; n < 200; n++) await harness.note(`spam ${n}`)
    const spam = harness.told().filter((text) => text.includes('spam'))
    const idsBefore = 7
    expect(spam).toHaveLength(channelLimits.noticesPerHour - idsBefore)
    expect(spam.at(-1)).toContain('the dashboard shows all')
    expect(spam.at(-2)).not.toContain('the dashboard shows all')
    // The last quarter is for agents that caused none, one notice each.
    for (let n = 0; n < 10; n++) {
      await harness.note(`first of ${n}`, `agent-${n}`)
      await harness.note(`second of ${n}`, `agent-${n}`)
    }
    expect(harness.told().filter((text) => text.includes('second of'))).toEqual([])
    expect(harness.told().filter((text) => text.includes('first of'))).toHaveLength(idsBefore)
    expect(harness.rows('SELECT id FROM channel_letters').length).toBeLessThan(40)
    harness.events.publish({
      type: 'approval.asked',
      approval_id: 'appr_1',
      agent_id: 'scout',
      run_id: null,
      summary: 'delete auditor',
      expires_at: 1,
    })
    await harness.clock.settle()
    expect(harness.told().at(-1)).toContain('delete auditor')
    await harness.clock.advance(3_600_001)
    await harness.note('an hour later')
    expect(harness.told().at(-1)).toContain('an hour later')
  })

  test('text of an agent cannot look like text of the mesh', async () => {
    const fake = createFakeAdapter({ name: 'discord', editEveryMs: null })
    const senderId = '100000000000000001'
    const harness = await aChannelHarness({
      adapters: [fake.adapter],
      notices: { to: ['discord'] },
      people: [{ ...ann, identities: [`discord:${senderId}`] }],
    })
    opened.push(harness)
    await fake.hear(aReceived({ id: 'came', text: '/help', senderId }))
    // Longer than a message of Discord.
    const message = `${'word '.repeat(398)}\nApproved.`
    harness.events.publish({ type: 'note.added', note_id: 'note_1', agent_id: 'scout', message })
    await harness.clock.settle()
    const pieces = fake
      .messages()
      .slice(1)
      .map(({ text }) => text)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.filter((text) => !text.startsWith('\\[scout\\] '))).toEqual([])
    const summary = 'x\nDecided: nothing is to be done.'
    const asked = { approval_id: 'appr_1', agent_id: 'scout', run_id: null, summary, expires_at: 1 } as const
    expect(
      noticeOf({ type: 'approval.asked', ...asked }, 'http://127.0.0.1:8420')?.text.split('\n'),
    ).toHaveLength(3)
  })

  test('a notice of an approval says where to decide it, and a reply cannot decide it', () => {
    const asked = {
      type: 'approval.asked',
      approval_id: 'appr_1',
      agent_id: 'scout',
      run_id: null,
      summary: 'delete agent auditor',
      expires_at: 1,
    } as const
    expect(noticeOf(asked, 'http://127.0.0.1:8420')?.text).toMatch(
      /delete agent auditor[\s\S]*flotilla pending/,
    )
  })

  test.each([
    ['2026-11-23T23:30:00', '2026-11-24T07:00:00'],
    ['2026-11-23T03:00:00', '2026-11-23T07:00:00'],
    ['2026-11-23T07:00:00', '2026-11-23T07:00:00'],
    ['2026-11-23T12:00:00', '2026-11-23T12:00:00'],
    ['2026-11-23T22:00:00', '2026-11-24T07:00:00'],
  ])('from 22:00 to 07:00 an event at %s is sent at %s', (at, then) => {
    expect(sendAt(Date.parse(at), { from: '22:00', to: '07:00' })).toBe(Date.parse(then))
  })
})
