import { describe, expect, test } from 'vitest'
import { readEnvelope, readMoved } from './read-envelope.ts'
import { plainText } from './plain-text.ts'

const self = { userId: 'U0BOT', command: '/flotilla' }

const message = (fields: Readonly<Record<string, unknown>>) => ({
  team_id: 'T1A',
  event: { type: 'message', user: 'U1A', channel: 'C1A', ts: '1700000000.000100', text: 'hi', ...fields },
})

test.each([
  ['no body', null],
  ['no event', { team_id: 'T1A' }],
  ['an invalid id', message({ channel: '../C1' })],
  ['an invalid timestamp', message({ ts: 'yesterday' })],
  ['no sender', message({ user: undefined })],
])('Slack: %s is ignored', (_name, body) => {
  expect(readEnvelope('events_api', body, self)).toBeNull()
})

test('Slack: an envelope of an unknown type is ignored', () => {
  expect(readEnvelope('hello', message({}), self)).toBeNull()
})

test('Slack: text, names and files are bounded, and no character is cut', () => {
  const said = readEnvelope(
    'events_api',
    message({
      text: `${'x'.repeat(39_999)}😀 and more`,
      subtype: 'file_share',
      files: Array.from({ length: 50 }, (_one, index) => ({
        id: `F${index}A`,
        name: 'n'.repeat(1000),
        mimetype: 'text/plain',
      })),
    }),
    self,
  )
  expect(said?.text).toBe('x'.repeat(39_999))
  expect(said?.files).toHaveLength(10)
  expect(said?.files[0]?.name).toHaveLength(128)
})

test('Slack: an unreadable file does not affect the others', () => {
  const said = readEnvelope(
    'events_api',
    message({ subtype: 'file_share', files: [{ id: 7 }, { id: 'F2A', name: 'b' }] }),
    self,
  )
  expect(said?.files.map(({ id }) => id)).toEqual(['F2A'])
})

test('Slack: a user of another workspace is identified by that workspace', () => {
  expect(readEnvelope('events_api', message({ team: 'T2A' }), self)?.teamId).toBe('T2A')
})

test('Slack: an unknown button value is cut to the maximum length', () => {
  const body = {
    type: 'block_actions',
    user: { id: 'U1A' },
    team: { id: 'T1A' },
    channel: { id: 'C1A' },
    message: { ts: '1700000000.000100' },
    actions: [{ action_ts: '1', value: 'v'.repeat(2000) }],
  }
  expect(readEnvelope('interactive', body, self)?.pressed).toHaveLength(64)
})

test.each([
  ['<@U0BOT> hello', 'hello'],
  ['hello <@U0BOT>', 'hello <@U0BOT>'],
  ['<@U2> hello', '<@U2> hello'],
  ['see <#C1|general> and <#C2>', 'see #general and <#C2>'],
  ['<!here> <!subteam^S1|@team>', '@here @@team'],
  ['<https://a.example/?x=1&amp;y=2>', 'https://a.example/?x=1&y=2'],
  ['<mailto:a@b.example|a@b.example>', 'a@b.example'],
  ['1 &lt; 2 &amp;&amp; 3 &gt; 2', '1 < 2 && 3 > 2'],
  ['&amp;lt;', '&lt;'],
])('Slack: %s is read as %s', (text, plain) => {
  expect(plainText(text, 'U0BOT')).toBe(plain)
})

test.each([
  ['/flotilla costs', '/costs'],
  ['<@U0BOT> /flotilla steer @scout go on', '/steer @scout go on'],
  [' /Flotilla  status\n', '/status'],
  ['/flotilla', '/help'],
  ['/flotillas costs', '/flotillas costs'],
  ['see /flotilla costs', 'see /flotilla costs'],
])('Slack: the typed text %j is read as %j', (text, read) => {
  expect(readEnvelope('events_api', message({ text }), self)?.text).toBe(read)
})

describe('text of other authors in Slack', () => {
  const shared = {
    is_share: true,
    is_msg_unfurl: true,
    author_name: 'Bob',
    text: '/stop &amp; go',
    files: [{ id: 'F1A', name: 'plan.pdf' }],
  }

  test("Slack: a shared message is kept apart from the sender's own text", () => {
    const said = readEnvelope('events_api', message({ text: 'look', attachments: [shared] }), self)
    expect(said).toMatchObject({
      text: 'look',
      files: [],
      shared: { text: '/stop & go', by: 'Bob', files: [{ id: 'F1A' }] },
    })
    const bare = readEnvelope('events_api', message({ text: '', attachments: [shared] }), self)
    expect(bare).toMatchObject({ text: '', shared: { text: '/stop & go' } })
  })

  test('Slack: a file that another person uploaded is not of the sender', () => {
    const mine = { id: 'F2A', name: 'mine.ogg', user: 'U1A', subtype: 'slack_audio' }
    const hers = { id: 'F3A', name: 'hers.ogg', user: 'UEVE', subtype: 'slack_audio' }
    const said = readEnvelope('events_api', message({ subtype: 'file_share', files: [mine, hers] }), self)
    expect(said).toMatchObject({ files: [{ id: 'F2A' }], shared: { text: '', files: [{ id: 'F3A' }] } })
  })

  test.each([
    { is_share: true, is_msg_unfurl: null },
    { is_share: null, is_msg_unfurl: true },
  ])('Slack: one mark is enough for a shared message: %j', (marks) => {
    const said = readEnvelope('events_api', message({ attachments: [{ ...shared, ...marks }] }), self)
    expect(said).toMatchObject({ text: 'hi', shared: { text: '/stop & go', by: 'Bob' } })
  })

  test('Slack: a shared message that has only blocks is read by its short form', () => {
    const attachments = [{ ...shared, text: '', fallback: '[Nov 28] Bob: go' }]
    const said = readEnvelope('events_api', message({ text: '', attachments }), self)
    expect(said).toMatchObject({ shared: { text: '[Nov 28] Bob: go' } })
  })

  test('Slack: link previews and additions of apps are ignored', () => {
    const said = readEnvelope('events_api', message({ attachments: [{ text: '/stop' }] }), self)
    expect(said).toMatchObject({ text: 'hi', shared: null })
  })

  test.each([
    ['an edit', message({ subtype: 'message_changed', message: { text: '/stop' } })],
    ["an app in a person's name", message({ bot_id: 'B1A' })],
    ['an app without a person', message({ subtype: 'bot_message', user: undefined })],
    ['a reminder of Slackbot', message({ user: 'USLACKBOT', channel: 'D1A', text: '/stop' })],
  ])('Slack: a message of another author is ignored: %s', (_name, body) => {
    expect(readEnvelope('events_api', body, self)).toBeNull()
  })

  test('Slack: a message shortcut is ignored', () => {
    const body = {
      type: 'message_action',
      callback_id: 'use',
      user: { id: 'U1A' },
      team: { id: 'T1A' },
      channel: { id: 'C1A' },
      message: { ts: '1700000000.000100', user: 'U2A', text: '/stop' },
    }
    expect(readEnvelope('interactive', body, self)).toBeNull()
  })
})

test('Slack: a changed channel id is accepted only from Slack itself', () => {
  const event = { type: 'channel_id_changed', old_channel_id: 'G012', new_channel_id: 'C345' }
  expect(readMoved('events_api', { team_id: 'T1A', event })).toEqual({ from: 'G012', to: 'C345' })
  expect(readMoved('slash_commands', { team_id: 'T1A', event })).toBeNull()
  expect(readMoved('events_api', { event: { ...event, new_channel_id: 'G012' } })).toBeNull()
  expect(readMoved('events_api', { event: { ...event, new_channel_id: '../C345' } })).toBeNull()
  expect(readMoved('events_api', message({}))).toBeNull()
})
