import { Problem } from '@flotilla/protocol/problem'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readMessagesParameters } from '../messages-parameters.ts'
import { readParameters } from '../chat-format.ts'

const readers = {
  chat: (body: object) => readParameters(Buffer.from(JSON.stringify(body))),
  messages: (body: object) =>
    readMessagesParameters(Buffer.from(JSON.stringify({ max_tokens: 1, ...body })), []),
}
const mark = 'https://evil.test/'

test('a number beyond the range, which would go on as null, is refused by its place', () => {
  const sent = (more: string) =>
    Buffer.from(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],${more}}`)
  for (const number of ['1e999', '-1e999']) {
    const body = sent(`"temperature":${number}`)
    for (const read of [() => readParameters(body), () => readMessagesParameters(body, [])]) {
      expect(read).toThrow(
        expect.objectContaining({ code: 'bad-request', detail: expect.stringMatching(/^temperature: /) }),
      )
    }
  }
  expect(readParameters(sent('"temperature":0.5')).forwarded).toMatchObject({ temperature: 0.5 })
})

/** Kinds and members that some provider knows, in arbitrary combinations. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(mark, 'hi', 'user', 'text', 'url', 'function', null, 1, true),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        'type',
        'url',
        'source',
        'image_url',
        'file',
        'file_url',
        'content',
        'role',
        '__proto__',
      ),
      fc.oneof(
        fc.constantFrom('text', 'image', 'image_url', 'document', 'file', 'url', 'tool_result', 'user', mark),
        tie('any'),
      ),
      { maxKeys: 4 },
    ),
  ),
})).any

/** Every address in the forwarded request, except for addresses in text parts. */
function addresses(forwarded: unknown, isWords = false): string[] {
  if (typeof forwarded === 'string') return forwarded.includes(mark) && !isWords ? [forwarded] : []
  if (Array.isArray(forwarded)) return forwarded.flatMap((entry: unknown) => addresses(entry, isWords))
  if (typeof forwarded !== 'object' || forwarded === null) return []
  return Object.entries(forwarded).flatMap(([name, inner]) =>
    addresses(inner, words.has(name) && typeof inner === 'string'),
  )
}
const words = new Set([
  'text',
  'content',
  'data',
  'title',
  'context',
  'tool_use_id',
  'name',
  'id',
  'filename',
])

describe.each(['chat', 'messages'] as const)('the closed form of %s', (form) => {
  const read = readers[form]

  test('the closed form of a prompt admits no member that names an address, and fails only with a refusal', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 3 }), fc.boolean(), (content, inMessage) => {
        const messages = inMessage ? [{ role: 'user', content }] : content
        try {
          const { forwarded, prompt } = read({ model: 'm', messages })
          // The remaining addresses are recorded: the mesh fetches and replaces them before it sends the request.
          const noted = prompt.remote.map(({ url }) => url)
          expect(addresses(forwarded).filter((found) => !noted.includes(found))).toEqual([])
        } catch (error) {
          expect(error).toBeInstanceOf(Problem)
          expect(error).toMatchObject({ code: 'bad-request' })
        }
      }),
      { numRuns: 3000 },
    )
  })

  test('the closed form gives back the very same messages where nothing is to be taken away', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: mark }] }] }
    expect(read(body).forwarded).toEqual({ messages: body.messages })
  })

  test('the closed form leaves out a member that is not on the list, and changes nothing else', () => {
    const message = { role: 'user', content: 'hi' }
    const { forwarded } = read({
      model: 'm',
      messages: [message, { ...message, url: mark, ['__proto__x']: 1 }],
    })
    expect(forwarded).toEqual({ messages: [message, message] })
  })

  test('the closed form is kept without a walk down the stack, however deep a schema is', () => {
    const deep = `${'{"items":'.repeat(20_000)}{}${'}'.repeat(20_000)}`
    const tool =
      form === 'chat'
        ? `{"type":"function","function":{"name":"f","parameters":${deep}}}`
        : `{"name":"f","input_schema":${deep}}`
    const text = `{"model":"m","max_tokens":1,"messages":[],"tools":[${tool}]}`
    const bytes = Buffer.from(text)
    const reading = () => (form === 'chat' ? readParameters(bytes) : readMessagesParameters(bytes, []))
    let failed: unknown = null
    try {
      reading()
    } catch (error) {
      failed = error
    }
    expect(failed === null || failed instanceof Problem).toBe(true)
  })
})
