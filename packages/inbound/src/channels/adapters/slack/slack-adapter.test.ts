import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  aMessage,
  sayJson,
  slackTokens,
  startSlackWorkspace,
} from '../../../../../../tests/support/slack-workspace.ts'
import type { SlackWorkspace } from '../../../../../../tests/support/slack-workspace.ts'
import type { Clock } from '@flotilla/protocol/clock'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../../foundation/src/platform/index.ts'
import { channelAdapterConformance } from '../../adapter.conformance.ts'
import type { ChannelState, ReceivedMessage } from '../../adapter.ts'
import { createSlackAdapter } from './index.ts'
import { recheckMs } from './slack-socket.ts'

const never = new AbortController().signal

/** With other connections, the check is repeated soon. */
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === recheckMs ? 100 : ms, signal),
}

function adapterOf(workspace: SlackWorkspace, tokens: Partial<{ botToken: string; appToken: string }> = {}) {
  return createSlackAdapter({
    botToken: createSecret('slack_bot_token', tokens.botToken ?? slackTokens.bot),
    appToken: createSecret('slack_app_token', tokens.appToken ?? slackTokens.app),
    proxies: noProxies,
    clock,
    apiUrl: workspace.apiUrl,
    fetch: workspace.fetch,
  })
}

channelAdapterConformance(
  'Slack',
  async () => {
    const workspace = await startSlackWorkspace()
    return {
      adapter: adapterOf(workspace),
      platform: workspace.platform,
      places: workspace.places,
      close: workspace.close,
    }
  },
  { sendsAgain: true },
)

describe('Slack', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function opened(
    tokens: Partial<{ botToken: string; appToken: string }> = {},
    there: SlackWorkspace | null = null,
  ) {
    const workspace = there ?? (await startSlackWorkspace())
    if (there === null) closing.push(workspace.close)
    const adapter = adapterOf(workspace, tokens)
    closing.push(adapter.close)
    const received: ReceivedMessage[] = []
    const states: ChannelState[] = []
    const starting = adapter.start({
      received: async (message) => void received.push(message),
      stateChanged: (state) => void states.push(state),
      passedOver: () => {},
    })
    return { workspace, adapter, heard: received, states, starting }
  }

  async function started() {
    const open = await opened()
    await open.starting
    return open
  }

  const inGroup = ({ workspace }: { workspace: SlackWorkspace }, fields: Record<string, unknown>) =>
    aMessage({
      team: workspace.teamId,
      user: workspace.personId,
      channel: workspace.places.group.conversationId,
      channel_type: 'channel',
      ts: '1700000001.000100',
      ...fields,
    })

  test('Slack: a person is identified by workspace and member, and shown by their display name', async () => {
    const { workspace, heard } = await started()
    await workspace.platform.say({ place: workspace.places.alone, text: 'hi', by: 'person', addressed: true })
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    expect(heard[0]).toMatchObject({
      senderId: `${workspace.teamId}:${workspace.personId}`,
      senderName: 'ann',
    })
  })

  test('Slack: a mention causes two events, arrives once without the mention, and starts a thread', async () => {
    const open = await started()
    const text = `<@${open.workspace.botUserId}> look at &lt;this&gt; <https://example.org/a|page>`
    const { deliver, platform } = open.workspace
    const marks = [
      deliver(inGroup(open, { text })),
      deliver(inGroup(open, { type: 'app_mention', text, channel_type: undefined })),
    ]
    await vi.waitFor(() => expect(marks.every(platform.isTaken)).toBe(true))
    expect(open.heard).toHaveLength(1)
    expect(open.heard[0]).toMatchObject({
      text: 'look at <this> page (https://example.org/a)',
      addressed: true,
      place: { threadId: '1700000001.000100', isPrivate: false },
    })
  })

  test('Slack: a reply in a thread of the bot is for the bot, also after a restart; in another thread it is not', async () => {
    const first = await started()
    const { workspace } = first
    const { id: root } = await first.adapter.send(
      { place: workspace.places.group, clientId: 'note_1-0', text: 'done', buttons: [], replyToId: null },
      never,
    )
    await first.adapter.close()
    const open = await opened({}, workspace)
    await open.starting
    workspace.deliver(inGroup(open, { text: 'thanks', thread_ts: root, ts: '1700000002.000100' }))
    workspace.deliver(
      inGroup(open, { text: 'not yours', thread_ts: '1600000000.000100', ts: '1700000003.000100' }),
    )
    await vi.waitFor(() => expect(open.heard).toHaveLength(2))
    expect(open.heard.map(({ text, addressed }) => ({ text, addressed }))).toEqual([
      { text: 'thanks', addressed: true },
      { text: 'not yours', addressed: false },
    ])
    expect(open.heard[0]?.place.threadId).toBe(root)
  })

  test('Slack: another program with the same token is reported until it is gone', async () => {
    const workspace = await startSlackWorkspace()
    closing.push(workspace.close)
    workspace.helloWith(2)
    const open = await opened({}, workspace)
    await open.starting
    expect(open.states.at(-1)).toMatchObject({
      state: 'connected',
      detail: expect.stringContaining('2 connections'),
      repair: expect.stringContaining('Stop the other program'),
    })
    await vi.waitFor(() => expect(workspace.connections()).toBeGreaterThan(2))
    workspace.helloWith(1)
    await vi.waitFor(() => expect(open.states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' }))
    const connections = workspace.connections()
    await workspace.platform.say({ place: workspace.places.alone, text: 'hi', by: 'person', addressed: true })
    await vi.waitFor(() => expect(open.heard).toHaveLength(1))
    expect(workspace.connections()).toBe(connections)
    expect(open.states.filter(({ state }) => state !== 'connected').map(({ state }) => state)).toEqual([
      'connecting',
    ])
  })

  test('Slack: a message in an unreadable thread is not acknowledged, and arrives when the thread is readable', async () => {
    const open = await started()
    open.workspace.answerNext('conversations.replies', (response) =>
      response.writeHead(429, { 'retry-after': '1' }).end(),
    )
    const mark = open.workspace.deliver(inGroup(open, { text: 'hm', thread_ts: '1600000000.000100' }))
    await vi.waitFor(() => expect(open.heard).toHaveLength(1))
    expect(open.workspace.attempts(mark)).toBeGreaterThan(1)
  })

  test.each([
    ['an edit', { subtype: 'message_changed' }],
    ['a deletion', { subtype: 'message_deleted' }],
    ['a bot', { subtype: 'bot_message', bot_id: 'B1' }],
    ['a message of another form', { user: 7 }],
  ])('Slack: %s is acknowledged and ignored', async (_name, fields) => {
    const open = await started()
    const mark = open.workspace.deliver(inGroup(open, { text: 'x', ...fields }))
    await vi.waitFor(() => expect(open.workspace.platform.isTaken(mark)).toBe(true))
    expect(open.heard).toEqual([])
  })

  test('Slack: messages of the bot are ignored', async () => {
    const open = await started()
    const mark = open.workspace.deliver(inGroup(open, { text: 'x', user: open.workspace.botUserId }))
    await vi.waitFor(() => expect(open.workspace.platform.isTaken(mark)).toBe(true))
    expect(open.heard).toEqual([])
  })

  test.each([
    ['/flotilla', 'status', '/status'],
    ['/flotilla', '', '/help'],
    ['/agents', 'all', '/agents all'],
  ])('Slack: the command %s %s arrives as %s', async (command, text, heard) => {
    const open = await started()
    open.workspace.deliver({
      type: 'slash_commands',
      payload: {
        command,
        text,
        team_id: open.workspace.teamId,
        user_id: open.workspace.personId,
        user_name: 'ann',
        channel_id: open.workspace.places.group.conversationId,
        trigger_id: '123.456.abc',
      },
    })
    await vi.waitFor(() => expect(open.heard).toHaveLength(1))
    expect(open.heard[0]).toMatchObject({ id: 'command:123.456.abc', text: heard, addressed: true })
  })

  test('Slack: a button keeps its value', async () => {
    const open = await started()
    const { workspace, adapter } = open
    const place = workspace.places.alone
    await adapter.send(
      {
        place,
        clientId: 'note_1-0',
        text: 'Which?',
        buttons: [{ label: 'Bob', value: 'use:bob' }],
        replyToId: null,
      },
      never,
    )
    expect(workspace.posted[0]?.blocks).toContain('"value":"use:bob"')
    workspace.deliver({
      type: 'interactive',
      payload: {
        type: 'block_actions',
        user: { id: workspace.personId, team_id: workspace.teamId, username: 'ann' },
        team: { id: workspace.teamId },
        channel: { id: place.conversationId },
        message: { ts: '1700000001.000100' },
        actions: [{ action_id: 'press-0', value: 'use:bob', action_ts: '1700000005.000100' }],
      },
    })
    await vi.waitFor(() => expect(open.heard).toHaveLength(1))
    expect(open.heard[0]).toMatchObject({ pressed: 'use:bob', text: '', place })
  })

  test('Slack: an answer is sent to its thread without link previews', async () => {
    const { workspace, adapter } = await started()
    const place = { ...workspace.places.group, threadId: '1700000001.000100' }
    await adapter.send({ place, clientId: 'n', text: 'see', buttons: [], replyToId: null }, never)
    expect(workspace.posted).toMatchObject([{ text: 'see', threadTs: '1700000001.000100' }])
  })

  test('Slack: files are sent and received within limits, with the token only for Slack', async () => {
    const open = await started()
    const { workspace, adapter } = open
    const sent = await adapter.upload?.(
      {
        place: workspace.places.group,
        clientId: 'n',
        name: 'a.txt',
        mediaType: 'text/plain',
        bytes: Buffer.from('out'),
      },
      never,
    )
    expect(sent?.id).toMatch(/^F/)
    const { id, url } = await workspace.upload('in.txt', Buffer.from('inside'))
    const file = { id, name: 'in.txt', mimetype: 'text/plain', size: 6, url_private_download: url }
    const stolen = { ...file, url_private_download: 'https://slack.com.example.org/in.txt' }
    workspace.deliver(inGroup(open, { subtype: 'file_share', text: '', files: [file, stolen] }))
    await vi.waitFor(() => expect(open.heard).toHaveLength(1))
    const [good, bad] = open.heard[0]?.attachments ?? []
    expect(good).toMatchObject({ kind: 'document', name: 'in.txt', sizeBytes: 6 })
    expect(Buffer.from((await adapter.download?.(good!.reference, 100, never)) ?? []).toString()).toBe(
      'inside',
    )
    await expect(adapter.download?.(good!.reference, 5, never)).rejects.toMatchObject({ kind: 'too-large' })
    await expect(adapter.download?.(bad!.reference, 100, never)).rejects.toMatchObject({ kind: 'refused' })
  })

  test.each(['refresh_requested', 'cut'] as const)(
    'Slack: after a connection ended (%s) a new one is opened, and no message is lost',
    async (how) => {
      const open = await started()
      const { workspace } = open
      workspace.disconnect(how)
      const mark = await workspace.platform.say({
        place: workspace.places.alone,
        text: 'still there?',
        by: 'person',
        addressed: true,
      })
      await vi.waitFor(() => expect(workspace.platform.isTaken(mark)).toBe(true), 5000)
      expect(open.heard.at(-1)?.text).toBe('still there?')
      expect(workspace.connections()).toBeGreaterThan(1)
      expect(open.states.at(-1)?.state).toBe('connected')
    },
  )

  test('Slack: a failed request for a socket URL is retried', async () => {
    const open = await started()
    open.workspace.answerNext('apps.connections.open', (response) => response.writeHead(503).end())
    open.workspace.disconnect('cut')
    await vi.waitFor(() => expect(open.workspace.connections()).toBe(2), 5000)
    expect(open.states.map(({ state }) => state)).toContain('failing')
  })

  test('Slack: after close there is no connection, and late messages stay unacknowledged', async () => {
    const { workspace, adapter, heard } = await started()
    await adapter.close()
    await vi.waitFor(() => expect(workspace.openConnections()).toBe(0))
    const mark = await workspace.platform.say({
      place: workspace.places.alone,
      text: 'too late',
      by: 'person',
      addressed: true,
    })
    expect(workspace.platform.isTaken(mark)).toBe(false)
    expect(heard).toEqual([])
  })

  test.each([
    ['a bot token with another prefix', { botToken: 'xoxp-1' }],
    ['an app token with another prefix', { appToken: 'xoxb-1' }],
    ['an app token that is unknown to Slack', { appToken: 'xapp-unknown' }],
  ])('Slack: %s is refused, with a repair', async (_name, tokens) => {
    const { starting, states } = await opened(tokens)
    await expect(starting).rejects.toMatchObject({ kind: 'refused' })
    expect(states.at(-1)).toMatchObject({
      state: 'refused',
      repair: expect.stringContaining('api.slack.com'),
    })
    for (const token of Object.values(tokens)) expect(JSON.stringify(states)).not.toContain(`${token}"`)
  })

  test('Slack: an unknown bot token is refused', async () => {
    const workspace = await startSlackWorkspace()
    closing.push(workspace.close)
    workspace.answerNext('auth.test', (response) => sayJson(response, { ok: false, error: 'invalid_auth' }))
    const adapter = adapterOf(workspace)
    closing.push(adapter.close)
    await expect(
      adapter.start({ received: async () => {}, stateChanged: () => {}, passedOver: () => {} }),
    ).rejects.toMatchObject({
      kind: 'refused',
    })
  })
})
