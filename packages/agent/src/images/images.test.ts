import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { estimateMessage } from '../context/estimate-tokens.ts'
import { shortenMessages } from '../context/shorten-messages.ts'
import type { ImageRef, PromptMessage } from '../llm/language-model.ts'
import { hasImages, wireMessages } from '../llm/wire-messages.ts'
import { readMessages } from '../loop/read-loop-state.ts'
import { aPng } from '../testing/pictures.ts'
import { boundImages, shownAnswersMax, withoutSeenImages } from './bound-images.ts'
import { createImageStore } from './image-store.ts'
import { imageMaxBytes, imagesMax, imageTypeOf } from '@flotilla/protocol/image-type'

const stateOf = (data: string) => join(data, '.flotilla', 'images')
const aStore = () => {
  const data = mkdtempSync(join(tmpdir(), 'images-'))
  return { store: createImageStore(data), folder: stateOf(data) }
}
const say = (content: string): PromptMessage => ({ role: 'user', content: sanitizeForPrompt(content) })
const calling = (...ids: string[]): PromptMessage => ({
  role: 'assistant',
  content: sanitizeForPrompt(''),
  toolCalls: ids.map((id) => ({ id, name: 'view_image', arguments: '{}' })),
})
const result = (id: string, images: readonly ImageRef[] = []): PromptMessage => ({
  role: 'tool',
  toolCallId: id,
  content: sanitizeForPrompt(`result ${id}`),
  ...(images.length > 0 ? { images } : {}),
})
const ref = (sizeBytes = 10): ImageRef => ({ mediaType: 'image/png', sha256: 'a'.repeat(64), sizeBytes })

describe('a picture', () => {
  test.each([
    ['image/png', aPng()],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/gif', Buffer.from('GIF89a....')],
    ['image/webp', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ')],
    [null, Buffer.from('RIFF\x10\0\0\0WAVEfmt ')],
    [null, Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    [null, Buffer.from('\x89PN')],
    [null, Buffer.alloc(0)],
  ])('a picture is %s by its bytes', (type, bytes) => {
    expect(imageTypeOf(bytes)).toBe(type)
  })

  test('a picture is kept once and comes back as it was', async () => {
    const { store, folder } = aStore()
    const base64 = aPng().toString('base64')
    const kept = await store.keep({ mediaType: 'image/gif', base64 })
    expect(await store.keep({ mediaType: 'image/png', base64 })).toEqual(kept)
    expect(kept).toMatchObject({ mediaType: 'image/png', sizeBytes: aPng().length })
    expect(readdirSync(folder)).toHaveLength(1)
    expect(await store.load(kept ?? ref())).toBe(base64)
  })

  test('a picture that is invalid or too large is not stored', async () => {
    const { store } = aStore()
    const large = Buffer.concat([aPng(), Buffer.alloc(imageMaxBytes)])
    for (const bytes of [Buffer.from('text'), large]) {
      expect(await store.keep({ mediaType: 'image/png', base64: bytes.toString('base64') })).toBeNull()
    }
  })

  test('a picture that a program changed or took away is gone', async () => {
    const { store, folder } = aStore()
    const kept = await store.keep({ mediaType: 'image/png', base64: aPng().toString('base64') })
    const other = Buffer.from(aPng())
    other[other.length - 1] = 7
    writeFileSync(join(folder, kept?.sha256 ?? ''), other)
    expect(await store.load(kept ?? ref())).toBeNull()
    expect(await store.load({ ...ref(), sha256: '../../../etc/passwd' })).toBeNull()
  })

  test('a picture is one of 64 that are kept at most', async () => {
    const { store, folder } = aStore()
    for (let index = 0; index < 70; index += 1) {
      const bytes = Buffer.concat([aPng(), Buffer.from([index])])
      await store.keep({ mediaType: 'image/png', base64: bytes.toString('base64') })
    }
    expect(readdirSync(folder)).toHaveLength(64)
  })
})

describe('pictures in a conversation', () => {
  test('pictures in a conversation are at most four, and no more bytes than one may have', () => {
    const shown = (messages: readonly PromptMessage[]) => messages.map((message) => hasImages([message]))
    const many = Array.from({ length: 5 }, (_, index) => result(`r${index}`, [ref()]))
    expect(boundImages(many.slice(0, 4))).toEqual(many.slice(0, 4))
    const kept = boundImages(many)
    expect(shown(kept)).toEqual([false, false, false, true, true])
    expect(kept[0]?.content).toContain('no longer shown')
    const large = [result('a', [ref(imageMaxBytes)]), result('b', [ref(1)])]
    expect(shown(boundImages(large))).toEqual([false, true])
    const four = [result('a', [ref()]), result('b', [ref(), ref(), ref(), ref()])]
    expect(shown(boundImages(four))).toEqual([false, true])
  })

  test('a conversation with a picture in each round repeats its beginning in two rounds of three', () => {
    let messages: readonly PromptMessage[] = []
    let repeated = 0
    for (let round = 0; round < 30; round += 1) {
      const id = `r${round}`
      const next = boundImages([...messages, calling(id), result(id, [ref()])])
      if (messages.every((message, at) => message === next[at])) repeated += 1
      messages = next
    }
    expect(repeated).toBeGreaterThanOrEqual(20)
  })

  test('a picture that was sent in many rounds leaves, with all of half that age, and changes nothing before', () => {
    const answer = { role: 'assistant', content: sanitizeForPrompt('on'), toolCalls: [] } as const
    const answers = (count: number) => Array.from({ length: count }, () => answer)
    const old = [calling('a'), result('a', [ref()])]
    const middle = [calling('b'), result('b', [ref()])]
    const fresh = [calling('c'), result('c', [ref()])]
    const young = [...old, ...middle, ...answers(shownAnswersMax - 2), ...fresh]
    expect(withoutSeenImages(young)).toBe(young)
    const aged = [...young, answer]
    const left = withoutSeenImages(aged)
    expect(left.filter((message) => hasImages([message]))).toEqual([fresh[1]])
    expect(left[1]?.content).toContain('Make the same call to see them again')
    // The conversation stays the same, byte for byte, until the next picture is too old.
    const later = [...left, ...answers(shownAnswersMax - 1)]
    expect(withoutSeenImages(later)).toBe(later)
  })

  test('pictures in a conversation are read back with it after a crash, and nothing else is taken for one', () => {
    const messages = [say('look'), calling('a'), result('a', [ref()])]
    expect(readMessages(JSON.parse(JSON.stringify(messages)))).toEqual(messages)
    const forged = [
      { ...result('a'), images: [{ ...ref(), sha256: '../x' }, 7, { ...ref(), mediaType: 'a' }] },
    ]
    expect(readMessages(forged)).toEqual([result('a')])
    const many = [{ ...result('a'), images: Array.from({ length: 50 }, () => ref()) }]
    expect(
      readMessages(many)?.flatMap((one) => (one.role === 'tool' ? (one.images ?? []) : [])),
    ).toHaveLength(imagesMax)
  })

  test('pictures in a conversation go first when room is short, before any word does', () => {
    const messages = [say('look'), calling('a'), result('a', [ref()]), say('x'.repeat(2000))]
    const size = messages.reduce((sum, message) => sum + estimateMessage(message), 0)
    const rule = { room: size - 500, sizeOf: estimateMessage, keptIn: 'there' }
    const { messages: shorter, before } = shortenMessages(messages, rule)
    expect(hasImages(shorter)).toBe(false)
    expect(shorter[3]).toBe(messages[3])
    expect(before).toEqual([messages[2]])
  })
})

describe('pictures on the wire', () => {
  const store = { load: async () => 'QUJD' }

  test('follow all results of their answer as a message that says whose they are', async () => {
    const messages = [say('look'), calling('a', 'b'), result('a', [ref()]), result('b'), say('and?')]
    const wire = await wireMessages(messages, { store, seen: true })
    expect(wire.map((message) => (message as { role: string }).role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
      'user',
    ])
    expect(wire[2]).toEqual({ role: 'tool', tool_call_id: 'a', content: 'result a' })
    expect(wire[4]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: expect.stringContaining('result of call a shows') },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
      ],
    })
  })

  test('pictures on the wire are said in words to a model that sees none, and where they are gone', async () => {
    const messages = [calling('a'), result('a', [ref()])]
    const blind = await wireMessages(messages, { store, seen: false })
    expect(JSON.stringify(blind)).toContain('this model cannot see pictures')
    expect(JSON.stringify(blind)).not.toContain('image_url')
    const gone = await wireMessages(messages, { store: { load: async () => null }, seen: true })
    expect(JSON.stringify(gone)).toContain('no longer stored')
  })
})
