import { expect, test } from 'vitest'
import { interactionSchema, messageSchema } from './discord-wire.ts'
import { messageBody, pressedValue } from './message-body.ts'
import { isSpoken, readInteraction, readMessage } from './read-message.ts'
import { before, isLater, latest, snowflakeAt, timeOfSnowflake } from './snowflake.ts'

const ourUserId = '90000'
const place = { conversationId: '50000', threadId: null, isPrivate: false }
const wire = (fields: Readonly<Record<string, unknown>>) =>
  messageSchema.parse({
    id: '80000',
    channel_id: '50000',
    type: 0,
    author: { id: '70000', username: 'ann' },
    content: 'hi',
    ...fields,
  })
const read = (fields: Readonly<Record<string, unknown>>, isOurs = false) =>
  readMessage(wire(fields), {
    ourUserId,
    channel: { place, isOurs },
  })

test('Discord: names, text and files are bounded', () => {
  const message = read({
    author: { id: '70000', username: 'a', global_name: 'n'.repeat(500) },
    content: `${'x'.repeat(3999)}😀`,
    attachments: Array.from({ length: 40 }, (_one, index) => ({
      id: `${60_000 + index}`,
      filename: 'f'.repeat(500),
    })),
  })
  expect(message.senderName).toHaveLength(128)
  expect(message.text).toBe('x'.repeat(3999))
  expect(message.attachments).toHaveLength(10)
  expect(message.attachments[0]?.name).toHaveLength(128)
})

test.each([
  ['a mention', { content: '<@90000> go', mentions: [{ id: ourUserId }] }, 'go', true],
  ['a mention by nickname', { content: '<@!90000>go', mentions: [{ id: ourUserId }] }, 'go', true],
  [
    'a mention of another user',
    { content: '<@70001> go', mentions: [{ id: '70001' }] },
    '<@70001> go',
    false,
  ],
  ['a manual mention in a code block', { content: '`<@90000>`' }, '`<@90000>`', false],
  ['everyone', { content: '@everyone go', mention_everyone: true }, '@everyone go', false],
])('%s', (...[, fields, text, addressed]) => {
  expect(read(fields)).toMatchObject({ text, addressed })
})

test('Discord: every message in a direct conversation or joined thread is for the bot', () => {
  expect(read({}, true).addressed).toBe(true)
})

test.each([
  ['a person', {}, true],
  ['a reply of a person', { type: 19 }, true],
  ['a bot', { author: { id: '1', username: 'b', bot: true } }, null],
  ['a bot with an id', { author: { id: '70001', username: 'b', bot: true } }, false],
  ['ourselves', { author: { id: ourUserId, username: 'us' } }, false],
  ['a webhook', { webhook_id: '60000' }, false],
  ['a pin', { type: 6 }, false],
])('Discord: %s counts as the sender: %o', (_name, fields, spoken) => {
  if (spoken === null) expect(() => wire(fields)).toThrow(/id/)
  else expect(isSpoken(wire(fields), ourUserId)).toBe(spoken)
})

test('Discord: a command without a user is ignored', () => {
  const nobody = interactionSchema.parse({
    id: '80000',
    application_id: ourUserId,
    token: 't',
    type: 2,
    channel_id: '50000',
    data: { name: 'status' },
  })
  expect(readInteraction(nobody, { place, isOurs: false })).toBeNull()
})

test('Discord: twenty-five buttons form five rows, differ, and keep their values', () => {
  const buttons = Array.from({ length: 25 }, () => ({ label: 'l'.repeat(200), value: 'a:b' }))
  const rows = messageBody('which?', buttons).components
  expect(rows.map(({ components }) => components.length)).toEqual([5, 5, 5, 5, 5])
  const ids = rows.flatMap(({ components }) => components.map(({ custom_id: id }) => id))
  expect(new Set(ids).size).toBe(25)
  expect(new Set(ids.map(pressedValue))).toEqual(new Set(['a:b']))
  expect(rows[0]?.components[0]?.label).toHaveLength(80)
})

test('Discord: ids contain their time', () => {
  const at = 1_700_000_000_000
  expect(timeOfSnowflake(snowflakeAt(at))).toBe(at)
  expect(isLater('100000000000000000', '99999999999999999')).toBe(true)
  expect(latest('5', null, '12', '7')).toBe('12')
  expect(latest(null)).toBeNull()
  expect(before('100000')).toBe('99999')
})

test("Discord: a forward keeps the text of others apart from the sender's own text", () => {
  const attachments = [{ id: '60000', filename: 'plan.pdf', url: 'https://cdn.discordapp.com/plan.pdf' }]
  const fields = {
    content: '',
    message_reference: { type: 1, channel_id: '50001', message_id: '80001' },
    message_snapshots: [{ message: { type: 0, content: '/stop', attachments } }],
  }
  expect(read(fields, true)).toMatchObject({
    text: '',
    attachments: [],
    forwarded: { text: '/stop', by: '', attachments: [{ kind: 'document', name: 'plan.pdf' }] },
  })
  expect(read({ ...fields, content: 'look' }, true)).toMatchObject({
    text: 'look',
    forwarded: { text: '/stop' },
  })
})

test('Discord: a forwarded message of a program is read by its cards', () => {
  const embeds = [{ title: 'Build failed', description: 'Step 3' }]
  const fields = {
    content: '',
    message_snapshots: [{ message: { type: 0, content: '', attachments: [], embeds } }],
  }
  expect(read(fields, true)).toMatchObject({ text: '', forwarded: { text: 'Build failed\nStep 3' } })
})

test("Discord: a reply is the sender's own text, whatever it replies to", () => {
  const referenced = { author: { id: ourUserId }, content: '/stop' }
  const message = read({ type: 19, content: 'look', referenced_message: referenced })
  expect(message).toMatchObject({ text: 'look', addressed: true })
  expect(message).not.toHaveProperty('forwarded')
})

test.each([
  ['another program', { author: { id: '70000', username: 'robot', bot: true } }],
  ['a webhook', { webhook_id: '60000' }],
  ['a post that a followed channel forwards', { webhook_id: '60000', flags: 2 }],
  ['Discord itself', { type: 7 }],
])('Discord: %s is ignored', (_name, fields) => {
  expect(isSpoken(wire(fields), ourUserId)).toBe(false)
})
