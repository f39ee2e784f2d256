import { expect, test } from 'vitest'
import { channelLimits } from '../channel-limits.ts'
import { albumTimes, hasRoom, joinAlbum } from './join-album.ts'
import type { FileWork } from './message-table.ts'
import type { PlainFile, PlainMessage } from './plain-message.ts'

const file = (name: string): PlainFile => ({ kind: 'picture', name, sizeBytes: 1, reference: name })
const message = (names: readonly string[], more: Partial<PlainMessage> = {}): PlainMessage => ({
  id: 'm1',
  senderId: '1',
  place: { conversationId: '1', threadId: null, isPrivate: true },
  text: '',
  pressed: null,
  files: names.map(file),
  filesLeftOut: 0,
  albumId: 'a',
  ...more,
})
const album = (more: Partial<FileWork> = {}): FileWork => ({
  message: message(['a']),
  agentId: 'clerk',
  text: '',
  album: { since: 1000, until: 2500 },
  ...more,
})
const names = ({ message: { files } }: FileWork) => files.map(({ name }) => name)

test.each([
  [1000, undefined, { since: 1000, until: 2500 }],
  [5000, 1000, { since: 1000, until: 6500 }],
  [9500, 1000, { since: 1000, until: 11_000 }],
  [20_000, 1000, { since: 1000, until: 11_000 }],
])('at %d an album of %j waits for a while, but not for ever', (now, since, times) => {
  expect(albumTimes(now, since)).toEqual(times)
})

test('the files of an album keep their order, and its first message gets the reply', () => {
  const joined = joinAlbum(album(), message(['b'], { id: 'm2' }), { said: null, now: 2000 })
  expect(names(joined)).toEqual(['a', 'b'])
  expect(joined.message.id).toBe('m1')
  expect(joined.album).toEqual({ since: 1000, until: 3500 })
})

test('an album without a time begins now', () => {
  const joined = joinAlbum(album({ album: null }), message(['b']), { said: null, now: 2000 })
  expect(joined.album).toEqual({ since: 2000, until: 3500 })
})

test('files above the limit are added to those that each message left out', () => {
  const many = Array.from({ length: channelLimits.albumFilesMax }, (_one, index) => `f${index}`)
  const before = album({ message: message(many.slice(1), { filesLeftOut: 2 }) })
  const joined = joinAlbum(before, message(['y', 'z'], { filesLeftOut: 3 }), { said: null, now: 1 })
  expect(names(joined)).toEqual([...many.slice(1), 'y'])
  expect(joined.message.filesLeftOut).toBe(6)
})

test.each([
  ['neither has text', '', null, { agentId: 'clerk', text: '' }],
  [
    'the new message has no text',
    'first',
    { agentId: 'scout', text: '' },
    { agentId: 'clerk', text: 'first' },
  ],
  ['the album has no text', '', { agentId: 'scout', text: 'now' }, { agentId: 'scout', text: 'now' }],
  ['both have text', 'first', { agentId: 'scout', text: 'now' }, { agentId: 'clerk', text: 'first\nnow' }],
])('an album joins its texts when %s', (...[, text, said, expected]) => {
  expect(joinAlbum(album({ text }), message([]), { said, now: 1 })).toMatchObject(expected)
})

test.each([
  [9, 0, true],
  [10, 0, false],
  [5, 4, true],
  [5, 5, false],
])('an album with %d files and %d left out has space: %s', (many, filesLeftOut, room) => {
  const all = Array.from({ length: many }, (_one, index) => `f${index}`)
  expect(hasRoom(album({ message: message(all, { filesLeftOut }) }))).toBe(room)
})

test('an album with one forwarded message counts as forwarded', () => {
  const forwarded = { text: 'from a stranger', by: 'Bob' }
  const joined = joinAlbum(album(), message(['b'], { forwarded }), { said: null, now: 1100 })
  expect(joined.message.forwarded).toEqual(forwarded)
  expect(joinAlbum(joined, message(['c']), { said: null, now: 1200 }).message.forwarded).toEqual(forwarded)
})
