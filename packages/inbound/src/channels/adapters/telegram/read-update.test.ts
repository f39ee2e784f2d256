import { expect, test } from 'vitest'
import { readUpdate } from './read-update.ts'

const self = {
  id: 777,
  username: 'fleet_bot',
  ids: { of: (chat: number | string, messageNumber: number) => `${chat}:${messageNumber}` },
}
const ann = { id: 1000, is_bot: false, first_name: 'Ann' }
const robot = { id: 999, is_bot: true, first_name: 'Robot', username: 'other_bot' }
const alone = { id: 1000, type: 'private', first_name: 'Ann' }
const group = { id: -2000, type: 'supergroup', title: 'Team' }
const said = (fields: object = {}) => ({
  message_id: 5,
  date: 0,
  from: ann,
  chat: alone,
  text: 'hello',
  ...fields,
})

/** The raw message, which has more fields than the types of one kind of update. */
const read = (update: object) => readUpdate({ update_id: 1, ...update }, self)

test('Telegram: a direct message is read', () => {
  expect(read({ message: said() })).toMatchObject({ id: '1000:5', senderId: '1000', addressed: true })
})

test('Telegram: the messages of an album share its id', () => {
  const photo = [{ file_id: 'f', file_unique_id: 'u', width: 1, height: 1 }]
  const message = said({ text: undefined, photo, media_group_id: '13' })
  expect(read({ message })).toMatchObject({ albumId: '13', attachments: [{ kind: 'picture' }] })
  expect(read({ message: said({ photo }) })).not.toHaveProperty('albumId')
})

test('Telegram: a round video is read as a document', () => {
  const message = said({ text: undefined, video_note: { file_id: 'f', file_unique_id: 'u', file_size: 7 } })
  expect(read({ message })?.attachments).toEqual([
    { kind: 'document', name: 'video.mp4', mediaType: 'video/mp4', sizeBytes: 7, reference: 'f' },
  ])
})

test.each([
  ['an edit', { edited_message: said({ edit_date: 1 }) }],
  ['a deletion', { deleted_business_messages: { chat: alone, message_ids: [5] } }],
  ['a post of a channel', { channel_post: said({ chat: { id: -1, type: 'channel' } }) }],
  ['another bot', { message: said({ from: robot }) }],
  [
    'another bot that mentions this one',
    { message: said({ from: robot, chat: group, text: '@fleet_bot hi' }) },
  ],
  [
    'a button of another bot',
    { callback_query: { id: '1', from: robot, message: said(), data: 'use:scout' } },
  ],
  ['text of an inline bot', { message: said({ via_bot: robot }) }],
  ['text of a business bot', { message: said({ sender_business_bot: robot }) }],
  [
    'a post that Telegram forwards to its group',
    { message: said({ chat: group, is_automatic_forward: true }) },
  ],
  ['a poll', { message: said({ text: undefined, poll: { question: '/stop', options: [] } }) }],
  ['a contact', { message: said({ text: undefined, contact: { first_name: '/stop', phone_number: '1' } }) }],
  ['an anonymous group admin', { message: said({ sender_chat: group, chat: group }) }],
  ['a joined user', { message: said({ text: undefined, new_chat_members: [ann] }) }],
])('Telegram: %s is ignored', (_name, update) => {
  expect(read(update)).toBeNull()
})

test.each([
  ['between people', {}],
  [
    'to another bot',
    { text: '/status@other_bot', entities: [{ type: 'bot_command', offset: 0, length: 17 }] },
  ],
  ['about the bot without a verified mention', { text: '@fleet_bot hi' }],
  ['in reply to another user', { reply_to_message: said({ from: robot }) }],
])('Telegram: a group message %s is not for the bot', (_name, fields) => {
  expect(read({ message: said({ chat: group, ...fields }) })).toMatchObject({ addressed: false })
})

const channel = { id: -3000, type: 'channel', title: 'News' }
test.each([
  [
    'a person',
    { forward_origin: { type: 'user', date: 0, sender_user: { ...robot, first_name: 'Bob' } } },
    'Bob',
  ],
  ['a hidden person', { forward_origin: { type: 'hidden_user', date: 0, sender_user_name: 'Eve' } }, 'Eve'],
  ['a group', { forward_origin: { type: 'chat', date: 0, sender_chat: group } }, 'Team'],
  ['a channel', { forward_origin: { type: 'channel', date: 0, chat: channel, message_id: 1 } }, 'News'],
  ['a person, in the form of older servers', { forward_from: robot }, ''],
  ['a hidden person, in the form of older servers', { forward_sender_name: 'Eve' }, ''],
  ['a channel, in the form of older servers', { forward_from_chat: channel }, ''],
  ['an author who is not named', { forward_date: 1 }, ''],
])("Telegram: text that is forwarded from %s is not the sender's own", (_name, fields, by) => {
  const command = { text: '/stop', entities: [{ type: 'bot_command', offset: 0, length: 5 }], ...fields }
  expect(read({ message: said(command) })).toMatchObject({
    senderId: '1000',
    text: '',
    attachments: [],
    forwarded: { text: '/stop', by, attachments: [] },
  })
  const photo = [{ file_id: 'f', file_unique_id: 'u', width: 1, height: 1 }]
  expect(read({ message: said({ text: undefined, photo, caption: '/stop', ...fields }) })).toMatchObject({
    text: '',
    attachments: [],
    forwarded: { text: '/stop', attachments: [{ kind: 'picture', reference: 'f' }] },
  })
})

test("Telegram: a reply to a forwarded message, or one with a quote, is the sender's own text", () => {
  const quoted = said({ from: robot, text: '/stop', forward_origin: { type: 'user', sender_user: robot } })
  const message = said({ text: 'look', reply_to_message: quoted, quote: { text: '/stop', position: 0 } })
  expect(read({ message })).toMatchObject({ text: 'look' })
  expect(read({ message })).not.toHaveProperty('forwarded')
})
