import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Clock } from '@flotilla/protocol/clock'
import {
  aMessage,
  sayJson,
  slackTokens,
  startSlackWorkspace,
} from '../../../../../../tests/support/slack-workspace.ts'
import type { SlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../../foundation/src/platform/index.ts'
import type { PassedOver, ReceivedMessage } from '../../adapter.ts'
import { createMemoryMarks } from '../channel-marks.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { createSlackAdapter } from './index.ts'
import { isLater, timestampAt } from './timestamp.ts'

const never = new AbortController().signal
/** Shorter delays than Slack's. */
const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) }
const hour = 3_600_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function aWorkspace(): Promise<SlackWorkspace> {
  const workspace = await startSlackWorkspace()
  closing.push(workspace.close)
  return workspace
}

/** All messages up to an hour ago were processed. */
function someMarks(): ChannelMarks {
  const marks = createMemoryMarks()
  marks.write('slack:listened', `${timestampAt(Date.now() - hour)} ${Date.now() - hour}`)
  return marks
}

async function listen(
  workspace: SlackWorkspace,
  marks: ChannelMarks,
  take: (message: ReceivedMessage) => Promise<void> = async () => {},
) {
  const adapter = createSlackAdapter({
    botToken: createSecret('slack_bot_token', slackTokens.bot),
    appToken: createSecret('slack_app_token', slackTokens.app),
    clock,
    marks,
    proxies: noProxies,
    apiUrl: workspace.apiUrl,
    fetch: workspace.fetch,
  })
  closing.push(adapter.close)
  const received: ReceivedMessage[] = []
  const passed: PassedOver[] = []
  await adapter.start({
    received: async (message) => {
      await take(message)
      received.push(message)
    },
    stateChanged: () => {},
    passedOver: (what) => void passed.push(what),
  })
  const texts = () => received.map(({ text }) => text)
  return { adapter, heard: received, passed, texts }
}

/** People wrote to the bot in these conversations before. */
function knownPlaces(marks: ChannelMarks, ...places: readonly string[]): void {
  marks.write('slack:places', places.join(' '))
}

describe('messages in Slack while the mesh was down', () => {
  test('Slack: missed direct messages, mentions and replies in own threads arrive in order after a start', async () => {
    const workspace = await aWorkspace()
    const { alone, group } = workspace.places
    const [direct, channel] = [alone.conversationId, group.conversationId]
    const marks = someMarks()
    const first = await listen(workspace, marks)
    const { id: root } = await first.adapter.send(
      { place: group, clientId: 'note_1-0', text: 'done', buttons: [], replyToId: null },
      never,
    )
    const event = { team: workspace.teamId, user: workspace.personId, channel, channel_type: 'channel' }
    workspace.deliver(aMessage({ ...event, thread_ts: root, text: 'thanks', ts: root.replace(/\d$/, '9') }))
    workspace.deliver(aMessage({ ...event, channel: direct, channel_type: 'im', text: 'hi', ts: root }))
    await vi.waitFor(() => expect(first.heard).toHaveLength(2))
    await first.adapter.close()

    const mention = `<@${workspace.botUserId}>`
    await workspace.write({ channel: direct, text: 'alone' })
    await workspace.write({ channel, text: `${mention} asked` })
    await workspace.write({ channel, text: 'to one another' })
    await workspace.write({ channel, text: 'in our thread', thread_ts: root })
    const begun = await workspace.write({ channel, text: 'a thread of others' })
    await workspace.write({ channel, text: `${mention} within it`, thread_ts: begun })
    await workspace.write({ channel: direct, text: 'alone again' })
    const again = await listen(workspace, marks)
    await vi.waitFor(() => expect(again.texts()).toHaveLength(7))
    const addressed = again.heard.filter((message) => message.addressed)
    expect(addressed.map(({ text }) => text)).toEqual([
      'alone',
      'alone again',
      'asked',
      'in our thread',
      'within it',
    ])
    expect(addressed[3]?.place).toEqual({ conversationId: channel, threadId: root, isPrivate: false })
    expect(addressed[0]).toMatchObject({
      senderId: `${workspace.teamId}:${workspace.personId}`,
      place: alone,
    })
  })

  test('Slack: missed messages have the ids of their events, so that duplicates are recognized', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel)
    const ts = await workspace.write({ channel, text: 'once' })
    const { heard } = await listen(workspace, marks)
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    const fields = { team: workspace.teamId, user: workspace.personId, channel, channel_type: 'im' }
    const mark = workspace.deliver(aMessage({ ...fields, text: 'once', ts }))
    await vi.waitFor(() => expect(workspace.platform.isTaken(mark)).toBe(true))
    expect(heard.map(({ id }) => id)).toEqual([`${channel}:${ts}`])
  })

  test('Slack: messages before the first start are not read', async () => {
    const workspace = await aWorkspace()
    const { alone } = workspace.places
    const marks = createMemoryMarks()
    const first = await listen(workspace, marks)
    await workspace.platform.say({ place: alone, text: 'hi', by: 'person', addressed: true })
    await vi.waitFor(() => expect(first.texts()).toEqual(['hi']))
    expect(workspace.called).not.toContain('conversations.history')
  })

  test("Slack: missed messages are found by Slack's timestamps, whatever the local clock shows", async () => {
    const workspace = await aWorkspace()
    const { alone } = workspace.places
    const marks = createMemoryMarks()
    const first = await listen(workspace, marks)
    // Its timestamp is years ago.
    await workspace.platform.say({ place: alone, text: 'hi', by: 'person', addressed: true })
    await vi.waitFor(() => expect(first.texts()).toEqual(['hi']))
    await first.adapter.close()
    const missed = { type: 'message', user: workspace.personId, text: 'missed', ts: '1700000100.000100' }
    workspace.answerNext('conversations.history', (response) =>
      sayJson(response, { ok: true, messages: [missed] }),
    )
    const again = await listen(workspace, marks)
    await vi.waitFor(() => expect(again.texts()).toEqual(['missed']))
  })

  test('Slack: messages that are older than a week are not read', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const old = createMemoryMarks()
    const monthAgo = Date.now() - 30 * 24 * hour
    old.write('slack:listened', `${timestampAt(monthAgo)} ${monthAgo}`)
    knownPlaces(old, channel)
    const eightDaysAgo = timestampAt(Date.now() - 8 * 24 * hour)
    const aged = { type: 'message', user: workspace.personId, text: 'too old', ts: eightDaysAgo }
    const young = { ...aged, text: 'young', ts: timestampAt(Date.now() - 6 * 24 * hour) }
    workspace.answerNext('conversations.history', (response) =>
      sayJson(response, { ok: true, messages: [young, aged], has_more: false }),
    )
    const later = await listen(workspace, old)
    await vi.waitFor(() => expect(later.texts()).toEqual(['young']))
  })

  test('Slack: missed messages of programs, of the bot and about joins are ignored', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel)
    const ts = (n: number) => `${Math.floor(Date.now() / 1000)}.00000${n}`
    const { personId: user, botUserId } = workspace
    workspace.answerNext('conversations.history', (response) =>
      sayJson(response, {
        ok: true,
        messages: [
          { type: 'message', user, text: 'mine', ts: ts(6) },
          { type: 'message', subtype: 'channel_join', user, text: 'joined', ts: ts(5) },
          { type: 'message', user: botUserId, text: 'ours', ts: ts(4) },
          { type: 'message', user, bot_id: 'B1A', text: 'an app in a person’s name', ts: ts(3) },
          { type: 'message', subtype: 'bot_message', text: 'an app', ts: ts(2) },
          { type: 'message', user, text: 'no time', ts: 'yesterday' },
        ],
      }),
    )
    const { texts } = await listen(workspace, marks)
    await vi.waitFor(() => expect(texts()).toEqual(['mine']))
  })

  test('Slack: missed messages are read once Slack allows it, and a deleted channel does not block others', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel, 'D0GONE')
    await workspace.write({ channel, text: 'patience' })
    workspace.answerNext('conversations.history', (response) =>
      sayJson(response, { ok: false, error: 'channel_not_found' }),
    )
    const first = await listen(workspace, marks)
    await vi.waitFor(() => expect(first.texts()).toEqual(['patience']))
    await first.adapter.close()
    workspace.answerNext('conversations.history', (response) => {
      response.writeHead(429, { 'retry-after': '1' }).end()
    })
    knownPlaces(marks, channel)
    const second = await listen(workspace, marks)
    await vi.waitFor(() => expect(second.texts()).toEqual(['patience']))
  })

  test('Slack: missed messages in listed channels are read, even without earlier messages to the bot', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    workspace.answerNext('users.conversations', (response) =>
      sayJson(response, { ok: true, channels: [{ id: channel }] }),
    )
    await workspace.write({ channel, text: `<@${workspace.botUserId}> hello` })
    const { texts } = await listen(workspace, someMarks())
    await vi.waitFor(() => expect(texts()).toEqual(['hello']))
  })

  test('Slack: missed messages that were not persisted are read again at the next start', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel)
    const before = marks.read('slack:listened')
    await workspace.write({ channel, text: 'kept' })
    const { promise: tried, resolve } = Promise.withResolvers<void>()
    const full = await listen(workspace, marks, async () => {
      resolve()
      throw new Error('no room on the disk')
    })
    await tried
    await full.adapter.close()
    expect(marks.read('slack:listened')).toBe(before)
    const next = await listen(workspace, marks)
    await vi.waitFor(() => expect(next.texts()).toEqual(['kept']))
    await vi.waitFor(() => expect(marks.read('slack:listened')).not.toBe(before))
  })

  test('Slack: missed messages are read up to a limit, and the rest is reported', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.alone.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel)
    const second = Math.floor(Date.now() / 1000)
    const page = (from: number) =>
      Array.from({ length: 200 }, (_one, n) => ({
        type: 'message',
        user: workspace.personId,
        text: `${from - n}`,
        ts: `${second}.${String(from - n).padStart(6, '0')}`,
      }))
    let asked = 0
    const answer = () =>
      workspace.answerNext('conversations.history', (response) => {
        asked++
        answer()
        const messages = page(2000 - 200 * (asked - 1))
        sayJson(response, { ok: true, messages, response_metadata: { next_cursor: `page-${asked}` } })
      })
    answer()
    const { heard, passed } = await listen(workspace, marks)
    await vi.waitFor(() => expect(heard).toHaveLength(1000))
    expect([heard[0]?.text, heard.at(-1)?.text]).toEqual(['1001', '2000'])
    expect(passed).toEqual([
      { id: `${channel}:history`, detail: expect.stringMatching(/more than 1000 messages/) },
    ])
  })
})

/** Answers the calls of a method in this order; later calls reach the workspace. */
function answerInOrder(
  workspace: SlackWorkspace,
  method: string,
  replies: readonly (Readonly<Record<string, unknown>> | { readonly status: number })[],
): void {
  const [first, ...rest] = replies
  if (first === undefined) return
  workspace.answerNext(method, (response) => {
    answerInOrder(workspace, method, rest)
    if (typeof first['status'] === 'number') response.writeHead(first['status'], { 'retry-after': '1' }).end()
    else sayJson(response, { ok: true, ...first })
  })
}

describe('reads of missed messages in Slack that are incomplete', () => {
  test('Slack: own threads are read before any number of threads of others, and a cut is reported', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    const root = await workspace.write({ channel, text: 'our thread' })
    await workspace.write({ channel, text: 'in our thread', thread_ts: root })
    for (let index = 0; index < 60; index++) {
      const other = await workspace.write({ channel, text: `thread ${index}` })
      await workspace.write({ channel, text: `reply ${index}`, thread_ts: other })
    }
    const marks = someMarks()
    knownPlaces(marks, channel, `${channel}/${root}`)
    const { texts, passed } = await listen(workspace, marks)
    await vi.waitFor(() => expect(passed).toHaveLength(1), 10_000)
    expect(texts()).toContain('in our thread')
    expect(texts().filter((text) => text.startsWith('reply'))).toHaveLength(50)
    expect(passed).toEqual([
      {
        id: `${channel}:history`,
        detail: expect.stringMatching(/^60 threads of other.*; 10 of them were not/),
      },
    ])
  })

  test.each([429, 503])(
    'Slack: a list of conversations that fails with %i is read again, and to its end',
    async (status) => {
      const workspace = await aWorkspace()
      const channel = workspace.places.group.conversationId
      answerInOrder(workspace, 'users.conversations', [
        { status },
        { channels: [{ id: 'D0EMPTY' }], response_metadata: { next_cursor: 'more' } },
        { channels: [{ id: channel }] },
      ])
      await workspace.write({ channel, text: `<@${workspace.botUserId}> hello` })
      const { texts } = await listen(workspace, someMarks())
      await vi.waitFor(() => expect(texts()).toEqual(['hello']))
    },
  )

  test('Slack: conversations of several people are listed, and a kind that the token may not list hides no other', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    answerInOrder(workspace, 'users.conversations', [
      { ok: false, error: 'missing_scope' },
      { channels: [{ id: channel }] },
    ])
    await workspace.write({ channel, text: `<@${workspace.botUserId}> hello` })
    const asked: string[] = []
    const fetch: SlackWorkspace['fetch'] = (url, init) => {
      const { body } = init ?? {}
      if (url.endsWith('/users.conversations') && typeof body === 'string') asked.push(body)
      return workspace.fetch(url, init)
    }
    const { texts } = await listen({ ...workspace, fetch }, someMarks())
    await vi.waitFor(() => expect(texts()).toEqual(['hello']))
    const kinds = asked.map((body) => new URLSearchParams(body).get('types'))
    expect(kinds).toEqual(['im', 'mpim', 'public_channel', 'private_channel'])
  })

  test('Slack: a list of conversations that does not end is reported', async () => {
    const workspace = await aWorkspace()
    const page = { channels: [], response_metadata: { next_cursor: 'more' } }
    answerInOrder(workspace, 'users.conversations', [page, page, page, page, page])
    const { passed } = await listen(workspace, someMarks())
    await vi.waitFor(() =>
      expect(passed).toEqual([
        { id: 'conversations:history', detail: expect.stringMatching(/more conversations than/) },
      ]),
    )
  })

  test('Slack: a first mention in a thread that began before the mark is found', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    const marks = someMarks()
    knownPlaces(marks, channel)
    const said = { type: 'message', user: workspace.personId }
    const root = { ...said, text: 'yesterday', ts: timestampAt(Date.now() - 24 * hour), reply_count: 1 }
    const quiet = { ...root, ts: timestampAt(Date.now() - 25 * hour), latest_reply: root.ts }
    const reply = {
      ...said,
      text: `<@${workspace.botUserId}> in it`,
      ts: timestampAt(Date.now() - 1000),
      thread_ts: root.ts,
    }
    answerInOrder(workspace, 'conversations.history', [
      { messages: [] },
      { messages: [{ ...root, latest_reply: reply.ts }, quiet] },
    ])
    answerInOrder(workspace, 'conversations.replies', [{ messages: [root, reply] }])
    const { heard, texts } = await listen(workspace, marks)
    await vi.waitFor(() => expect(texts()).toEqual(['in it']))
    expect(heard[0]).toMatchObject({ addressed: true, place: { conversationId: channel, threadId: root.ts } })
    expect(workspace.called.filter((method) => method === 'conversations.replies')).toHaveLength(1)
  })

  test('Slack: a thread with more replies than are read is reported with the end that is missing', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    const marks = someMarks()
    const root = timestampAt(Date.now() - 2 * hour)
    knownPlaces(marks, channel, `${channel}/${root}`)
    const reply = (n: number) => ({
      type: 'message',
      user: workspace.personId,
      text: `${n}`,
      ts: `${Math.floor(Date.now() / 1000)}.00000${n}`,
      thread_ts: root,
    })
    const page = (n: number) => ({ messages: [reply(n)], response_metadata: { next_cursor: 'more' } })
    answerInOrder(workspace, 'conversations.history', [{ messages: [] }, { messages: [] }])
    answerInOrder(workspace, 'conversations.replies', [1, 2, 3, 4, 5, 6].map(page))
    const { texts, passed } = await listen(workspace, marks)
    await vi.waitFor(() => expect(passed).toHaveLength(1))
    expect(texts()).toEqual(['1', '2', '3', '4', '5'])
    expect(passed[0]?.detail).toMatch(/replies in a thread.*the newest were not read/)
  })

  test('Slack: a conversation and a thread that the token may not read are reported', async () => {
    const workspace = await aWorkspace()
    const channel = workspace.places.group.conversationId
    const marks = someMarks()
    knownPlaces(marks, 'G0HIDDEN', channel, `${channel}/${timestampAt(Date.now() - 2 * hour)}`)
    const refused = { ok: false, error: 'missing_scope' }
    answerInOrder(workspace, 'conversations.history', [{ messages: [] }, { messages: [] }, refused])
    answerInOrder(workspace, 'conversations.replies', [refused])
    const { passed } = await listen(workspace, marks)
    await vi.waitFor(() => expect(passed).toHaveLength(2))
    expect(passed).toEqual([
      {
        id: `${channel}:history`,
        detail: expect.stringMatching(/^a thread could not be read:.*missing_scope/),
      },
      { id: 'G0HIDDEN:history', detail: expect.stringMatching(/could not be read:.*missing_scope/) },
    ])
  })
})

test('Slack: timestamps are compared to their last digit', () => {
  expect(isLater('1700000000.000200', '1700000000.000100')).toBe(true)
  expect(isLater('1700000000.0001', '1700000000.000100')).toBe(false)
  expect(isLater('999999999.999999', '1700000000.000100')).toBe(false)
  expect(isLater('1700000001.000000', '1700000000.999999')).toBe(true)
})
