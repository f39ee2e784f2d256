import { attachmentsMax } from '@flotilla/protocol/chat-attachments'
import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { aReceived } from '../../../../testing/src/fake-channel.ts'
import { referenceMaxChars } from '../adapter.ts'
import type { ReceivedAttachment } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { plainMessage, plainMessageSchema } from './plain-message.ts'

type Fields = Parameters<typeof aReceived>[0]
const plain = (fields: Fields = {}) => plainMessage('telegram', aReceived(fields))
const group = { conversationId: '-5', threadId: null, isPrivate: false }
const attachment = (fields: Partial<ReceivedAttachment> = {}): ReceivedAttachment => ({
  kind: 'document',
  name: 'a.txt',
  mediaType: 'text/plain',
  sizeBytes: 3,
  reference: 'r',
  ...fields,
})

describe('the stored form of a message', () => {
  test('a stored message has its visible text, its place and its sender', () => {
    expect(plain({ text: ' he\u200bllo\u202e \n' })).toEqual({
      id: 'u1',
      senderId: '1000',
      place: { conversationId: '1000', threadId: null, isPrivate: true },
      text: 'hello',
      pressed: null,
      files: [],
      filesLeftOut: 0,
      albumId: null,
    })
  })

  test.each<[string, Fields]>([
    ['a message between people', { place: group, addressed: false }],
    ['a sender without an id of the platform', { senderId: '0' }],
    ['a sender with an id of another platform', { senderId: 'T1:U1' }],
    ['a message without an id', { id: '' }],
    ['a message with an overlong id', { id: 'x'.repeat(channelLimits.messageIdMaxChars + 1) }],
    ['an overlong conversation id', { place: { ...group, conversationId: 'x'.repeat(201) } }],
    ['an overlong thread id', { place: { ...group, threadId: 'x'.repeat(201) } }],
    ['nothing', { text: '' }],
    ['a message of invisible characters', { text: '\u200b\u202e \n' }],
  ])('nothing is stored of %s', (_what, fields) => {
    expect(plain(fields)).toBeNull()
  })

  test.each<[string, Fields]>([
    ['direct, addressed or not', { addressed: false }],
    ['addressed in a group', { place: group, addressed: true }],
    ['of the longest id', { id: 'x'.repeat(channelLimits.messageIdMaxChars) }],
    [
      'of the longest place',
      { place: { ...group, conversationId: 'x'.repeat(200), threadId: 'x'.repeat(200) } },
    ],
    ['only a button', { text: '', pressed: 'use:scout' }],
    ['only a file', { text: '', attachments: [attachment()] }],
    ['only a file that cannot be fetched', { text: '', attachments: [attachment({ reference: '' })] }],
  ])('a message is stored that is %s', (_what, fields) => {
    expect(plain(fields)).not.toBeNull()
  })

  test('overlong text is stored as too long, but not longer', () => {
    const max = wireLimits.chatMessageMaxChars
    expect(plain({ text: 'x'.repeat(5 * max) })?.text).toBe('x'.repeat(2 * max))
    expect(plain({ pressed: 'x'.repeat(500) })?.pressed).toBe('x'.repeat(2 * channelLimits.nameMaxChars))
    expect(plain({ pressed: 'a\u200bb' })?.pressed).toBe('ab')
  })

  test.each([
    [undefined, null],
    ['', null],
    ['a', 'a'],
    ['x'.repeat(channelLimits.messageIdMaxChars), 'x'.repeat(channelLimits.messageIdMaxChars)],
    ['x'.repeat(channelLimits.messageIdMaxChars + 1), null],
  ])('the album id %j is stored as %j', (albumId, known) => {
    expect(plain(albumId === undefined ? {} : { albumId })?.albumId).toBe(known)
  })
})

describe('reading a stored message', () => {
  test.each(['picture', 'document', 'voice'] as const)(
    'a stored message is read unchanged, with a %s',
    (kind) => {
      const message = plain({ attachments: [attachment({ kind })], albumId: 'a' })
      expect(plainMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
    },
  )

  test('a message of an earlier release is read without files', () => {
    const { id, senderId, place, text, pressed } = plain() ?? {}
    expect(plainMessageSchema.parse({ id, senderId, place, text, pressed })).toEqual(plain())
  })

  test('a stored message of another form is rejected', () => {
    const message = plain({ attachments: [attachment()] })
    expect(plainMessageSchema.safeParse({ ...message, text: 7 }).success).toBe(false)
    expect(plainMessageSchema.safeParse({ ...message, files: [{ kind: 'book' }] }).success).toBe(false)
  })
})

describe('files of a stored message', () => {
  test('files are stored up to the limit, and the others are counted', () => {
    const attachments = Array.from({ length: attachmentsMax + 3 }, (_one, index) =>
      attachment({ name: `f${index}` }),
    )
    const message = plain({ attachments })
    expect(message?.files.map(({ name }) => name)).toEqual(
      attachments.slice(0, attachmentsMax).map(({ name }) => name),
    )
    expect(message?.filesLeftOut).toBe(3)
  })

  test('a file without a usable reference is left out', () => {
    const attachments = [
      attachment({ reference: 'x'.repeat(referenceMaxChars) }),
      attachment({ reference: 'x'.repeat(referenceMaxChars + 1) }),
      attachment({ reference: '' }),
    ]
    expect(plain({ attachments })).toMatchObject({ files: [{ name: 'a.txt' }], filesLeftOut: 2 })
  })

  test.each([
    ['a.txt', 'a.txt'],
    [' a \n\t b\u200b.txt ', 'a b.txt'],
    ['\u200b', 'file'],
    ['', 'file'],
    ['x'.repeat(500), 'x'.repeat(120)],
    // The end of an endless name is not even read.
    [`${'\u200b'.repeat(240)}a`, 'file'],
  ])('the name %j is shown as %j', (name, shown) => {
    const file = attachment({ name, sizeBytes: null, kind: 'voice' })
    expect(plain({ attachments: [file] })?.files).toEqual([
      { kind: 'voice', name: shown, sizeBytes: null, reference: 'r' },
    ])
  })
})
