import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { promptTokensAtMost } from './estimate.ts'
import { mediaBoundsOf, requireBounded } from '../catalog/media-bounds.ts'
import { readMessagesParameters } from '../formats/messages-parameters.ts'
import { readParameters } from '../formats/chat-format.ts'
import { nothingFound } from '../formats/prompt/prompt-found.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const pdf = Buffer.from('%PDF-1.4\n')

/** A piece of a prompt, independent of the API format. */
type Piece =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'image'; readonly bytes: number }
  | { readonly is: 'document'; readonly bytes: number }

const piece: fc.Arbitrary<Piece> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ is: fc.constant('text' as const), text: fc.string({ unit: 'binary' }) }),
  },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('image' as const), bytes: fc.nat(4000) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('document' as const), bytes: fc.nat(4000) }) },
)
const conversation = fc.array(fc.array(piece, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 })
const tools = fc.array(fc.record({ name: fc.stringMatching(/^[a-z]{1,20}$/), description: fc.string() }), {
  maxLength: 4,
})

/**
 * A token counter at the upper bound: one token for every byte of text, a few for the frame of each message and
 * tool, the family's maximum for a picture, and the rest of the window for a document.
 */
function referenceCount(
  turns: readonly (readonly Piece[])[],
  offered: readonly { readonly name: string; readonly description: string }[],
  family: { readonly imageTokens: number; readonly window: number; readonly before: number },
): number {
  const pieces = turns.flat()
  const said = pieces.reduce((sum, one) => {
    if (one.is === 'text') return sum + Buffer.byteLength(one.text)
    return sum + (one.is === 'image' ? family.imageTokens : 0)
  }, 0)
  const described = offered.reduce(
    (sum, { name, description }) => sum + Buffer.byteLength(name) + Buffer.byteLength(description) + 12,
    0,
  )
  const tokens = family.before + turns.length * 4 + said + described
  return pieces.some(({ is }) => is === 'document') ? Math.max(tokens, family.window) : tokens
}

function data(head: Buffer, bytes: number): string {
  return Buffer.concat([head, Buffer.alloc(bytes, 7)]).toString('base64')
}

const chatPart = (one: Piece) => {
  if (one.is === 'text') return { type: 'text', text: one.text }
  if (one.is === 'image') {
    return { type: 'image_url', image_url: { url: `data:image/png;base64,${data(png, one.bytes)}` } }
  }
  return { type: 'file', file: { file_data: `data:application/pdf;base64,${data(pdf, one.bytes)}` } }
}
const messageBlock = (one: Piece) => {
  if (one.is === 'text') return { type: 'text', text: one.text }
  const isImage = one.is === 'image'
  const media_type = isImage ? 'image/png' : 'application/pdf'
  return {
    type: one.is,
    source: { type: 'base64', media_type, data: data(isImage ? png : pdf, one.bytes) },
  }
}

const setups = {
  openai: { kind: 'openai-compatible', baseUrl: 'https://api.openai.com/v1' },
  claude: { kind: 'anthropic', baseUrl: 'https://api.anthropic.com/v1' },
  other: { kind: 'openai-compatible', baseUrl: 'https://api.x.ai/v1' },
} as const
const more = { apiKey: null, local: false, extras: {}, usage: {} }

function boundsOf(name: keyof typeof setups, model: string, window: number | null) {
  return mediaBoundsOf({ model, setup: { ...more, ...setups[name] }, free: false, window })
}

describe('the estimate of a prompt', () => {
  test('the estimate of a prompt is at least what the dearest counter counts, in chats', () => {
    fc.assert(
      fc.property(conversation, tools, (turns, offered) => {
        const body = {
          model: 'gpt-4o-mini',
          messages: turns.map((parts) => ({ role: 'user', content: parts.map(chatPart) })),
          tools: offered.map((named) => ({ type: 'function', function: { ...named, parameters: {} } })),
        }
        const { forwarded, prompt } = readParameters(Buffer.from(JSON.stringify(body)))
        const sent = Buffer.byteLength(JSON.stringify({ model: body.model, ...forwarded }))
        const family = { imageTokens: 2833 + 8 * 5667, window: 128_000, before: 3 }
        expect(
          promptTokensAtMost(prompt, sent, boundsOf('openai', 'gpt-4o-mini', 128_000)),
        ).toBeGreaterThanOrEqual(referenceCount(turns, offered, family))
      }),
      { numRuns: 300 },
    )
  })

  test('the estimate of a prompt is at least what the dearest counter counts, in messages, also within results of tools', () => {
    fc.assert(
      fc.property(conversation, tools, fc.boolean(), (turns, offered, nested) => {
        const content = (parts: readonly Piece[]) => {
          const blocks = parts.map(messageBlock)
          return nested ? [{ type: 'tool_result', tool_use_id: 't', content: blocks }] : blocks
        }
        const body = {
          model: 'claude-sonnet-5',
          max_tokens: 10,
          messages: turns.map((parts) => ({ role: 'user', content: content(parts) })),
          ...(offered.length === 0
            ? {}
            : { tools: offered.map((named) => ({ ...named, input_schema: { type: 'object' } })) }),
        }
        const { forwarded, prompt } = readMessagesParameters(Buffer.from(JSON.stringify(body)), [])
        const sent = Buffer.byteLength(JSON.stringify({ model: body.model, ...forwarded }))
        const before = offered.length === 0 ? 10 : 804
        const family = { imageTokens: 4784, window: 1_000_000, before }
        expect(
          promptTokensAtMost(prompt, sent, boundsOf('claude', 'claude-sonnet-5', 1_000_000)),
        ).toBeGreaterThanOrEqual(referenceCount(turns, offered, family))
      }),
      { numRuns: 300 },
    )
  })

  test('the estimate counts the definition of a deferred tool for each reference to it', () => {
    const tool = { name: 'a', input_schema: { type: 'object' }, description: 'x'.repeat(10_000) }
    const ask = (references: number) => {
      const content = Array.from({ length: references }, () => ({ type: 'tool_reference', tool_name: 'a' }))
      const body = {
        model: 'claude-sonnet-5',
        max_tokens: 10,
        tools: [{ ...tool, defer_loading: true }],
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] }],
      }
      const { prompt } = readMessagesParameters(Buffer.from(JSON.stringify(body)), [])
      return promptTokensAtMost(prompt, 100, boundsOf('claude', 'claude-sonnet-5', 1_000_000))
    }
    expect(ask(5) - ask(0)).toBeGreaterThanOrEqual(5 * 10_000)
  })

  test('the estimate of a document is the bound of documents if that exceeds the text next to it', () => {
    const prompt = { ...nothingFound(), documents: 1, dataBytes: 100 }
    const bounds = { ...boundsOf('openai', 'gpt-4o', null), documentTokens: 1000, addedTokens: 5 }
    const at = (bodyBytes: number, more: object = {}) =>
      promptTokensAtMost({ ...prompt, ...more }, bodyBytes, bounds)
    expect(at(600)).toBe(1000)
    expect(at(1600)).toBe(1505)
    expect(at(600, { documents: 0 })).toBe(505)
    expect(at(600, { documents: 0, toolTokens: 7 })).toBe(512)
    expect(at(50, { documents: 0 })).toBe(5)
    const none = { ...bounds, documentTokens: null }
    expect(promptTokensAtMost(prompt, 600, none)).toBe(505)
  })

  test('the estimate excludes the bytes of pictures, and includes the preamble that Grok adds', () => {
    const url = `data:image/png;base64,${data(png, 300_000)}`
    const content = [{ type: 'image_url', image_url: { url } }]
    const { prompt } = readParameters(
      Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })),
    )
    const bytes = url.length + 100
    expect(promptTokensAtMost(prompt, bytes, boundsOf('openai', 'gpt-4o', null))).toBe(50_122)
    expect(promptTokensAtMost(prompt, bytes, boundsOf('other', 'grok-4', null))).toBe(52_122)
    expect(promptTokensAtMost(prompt, bytes, boundsOf('claude', 'claude-haiku-4-5', null))).toBe(5122)
  })
})

describe('what has no bound', () => {
  const prompt = (more: object) => ({ ...readParameters(hello).prompt, ...more })
  const hello = Buffer.from(JSON.stringify({ model: 'm', messages: [] }))

  test('what has no bound is refused: a document where the window is not known or the reading has a fee, and sound that costs', () => {
    const model = (name: keyof typeof setups, window: number | null) => ({
      id: `${name}/m`,
      media: boundsOf(name, 'm', window),
    })
    expect(() => requireBounded(prompt({ documents: 1 }), model('openai', null))).toThrow('is unknown; send')
    expect(() => requireBounded(prompt({ documents: 1 }), model('other', 200_000))).toThrow(
      'is unknown; send',
    )
    expect(() => requireBounded(prompt({ sounds: 1 }), model('openai', 200_000))).toThrow('is unknown; send')
    expect(() => requireBounded(prompt({ documents: 1, images: 3 }), model('openai', 200_000))).not.toThrow()
  })

  test('what has no bound is taken where it costs nothing', () => {
    const setup = { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1', ...more } as const
    const media = mediaBoundsOf({ model: 'm', setup, free: true, window: null })
    expect(() => requireBounded(prompt({ documents: 1, sounds: 1 }), { id: 'ollama/m', media })).not.toThrow()
  })
})
