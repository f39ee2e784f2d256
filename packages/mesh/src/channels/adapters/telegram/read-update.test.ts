import { expect, test } from 'vitest'
import { readUpdate } from './read-update.ts'

const self = { id: 777, username: 'fleet_bot' }
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

/** As the wire has it, which is more than the types of any one kind of update. */
const read = (update: object) => readUpdate({ update_id: 1, ...update }, self)

test('what a person says alone is heard', () => {
  expect(read({ message: said() })).toMatchObject({ id: '1000:5', senderId: '1000', addressed: true })
})

test('the messages of an album bear what they have in common', () => {
  const photo = [{ file_id: 'f', file_unique_id: 'u', width: 1, height: 1 }]
  const message = said({ text: undefined, photo, media_group_id: '13' })
  expect(read({ message })).toMatchObject({ albumId: '13', attachments: [{ kind: 'picture' }] })
  expect(read({ message: said({ photo }) })).not.toHaveProperty('albumId')
})

test('a round video is a file as others are', () => {
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
  ['another bot that names us', { message: said({ from: robot, chat: group, text: '@fleet_bot hi' }) }],
  ['another bot’s button', { callback_query: { id: '1', from: robot, message: said(), data: 'use:scout' } }],
  ['words that another bot wrote for a person', { message: said({ via_bot: robot }) }],
  ['a group that speaks as itself', { message: said({ sender_chat: group, chat: group }) }],
  ['somebody who came', { message: said({ text: undefined, new_chat_members: [ann] }) }],
])('%s is nobody’s words to us', (_name, update) => {
  expect(read(update)).toBeNull()
})

test.each([
  ['to one another', {}],
  [
    'to another bot',
    { text: '/status@other_bot', entities: [{ type: 'bot_command', offset: 0, length: 17 }] },
  ],
  ['about us, without a mention that Telegram vouches for', { text: '@fleet_bot hi' }],
  ['in answer to somebody else', { reply_to_message: said({ from: robot }) }],
])('what is said in a group %s is not for us', (_name, fields) => {
  expect(read({ message: said({ chat: group, ...fields }) })).toMatchObject({ addressed: false })
})
