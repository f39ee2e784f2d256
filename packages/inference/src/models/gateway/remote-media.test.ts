import { Problem } from '@flotilla/protocol/problem'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpCall } from '../../../../../tests/support/http-call.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import type { FetchMedia } from './remote-media.ts'
import { remoteMediaMaxBytes } from './remote-media.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')
const pdf = Buffer.from('%PDF-1.4\nrest')
const site = 'https://site.test'

const web: FetchMedia = async (_caller, { url }) => {
  if (url.startsWith(`${site}/picture`)) return png
  if (url.startsWith(`${site}/paper`)) return pdf
  if (url.startsWith(`${site}/page`)) return Buffer.from('<html>')
  throw new Problem('address-refused', { detail: 'site.test is not a public address' })
}

async function aServer(wire: WireKind, model: string, fetchMedia: FetchMedia = web) {
  const requests: { url: string; maxBytes: number }[] = []
  const gateway = await startLlmGateway(wire, model, {
    fetchMedia: (caller, one, signal) => {
      requests.push({ url: one.url, maxBytes: one.maxBytes })
      return fetchMedia(caller, one, signal)
    },
  })
  onTestFinished(() => gateway.close())
  const post = (path: string, content: readonly object[], more: JsonObject = {}) =>
    httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}${path}`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content }], ...more }),
    })
  return {
    gateway,
    asked: requests,
    post,
    sent: () => JSON.stringify(gateway.upstream.calls.map(({ body }) => body)),
  }
}

const hi = { type: 'text', text: 'hi' }
const chatPicture = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'low' } })
const picture = (url: string) => ({ type: 'image', source: { type: 'url', url } })
const paper = (url: string) => ({ type: 'document', source: { type: 'url', url } })

describe('what a prompt names by its address', () => {
  test.each<[WireKind, string]>([
    ['openai', 'groq/m'],
    ['anthropic', 'anthropic/claude-haiku-4-5'],
    ['google', 'google/gemini-2.5-flash'],
    ['mistral', 'mistral/mistral-large-latest'],
    ['bedrock', 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0'],
    ['openai', 'azure/gpt-4o'],
  ])('goes to %s as data in both formats, and its address stays here (%s)', async (wire, model) => {
    const { asked, post, sent } = await aServer(wire, model)
    const chat = await post('/v1/chat/completions', [chatPicture(`${site}/picture?d=secret`), hi])
    const message = await post('/v1/messages', [picture(`${site}/picture?d=secret`), hi])
    expect([chat.status, message.status]).toEqual([200, 200])
    expect(asked).toHaveLength(2)
    expect(asked[0]).toEqual({ url: `${site}/picture?d=secret`, maxBytes: remoteMediaMaxBytes })
    expect(sent()).not.toContain('site.test')
    expect(sent().split(png.toString('base64'))).toHaveLength(3)
  })

  test('media given by address replaces its own part, among other parts and within a tool result', async () => {
    const { gateway, post } = await aServer('anthropic', 'anthropic/claude-haiku-4-5')
    const result = { type: 'tool_result', tool_use_id: 't', content: [hi, picture(`${site}/picture`)] }
    const reply = await post('/v1/messages', [result, paper(`${site}/paper`), hi])
    expect(reply.status).toBe(200)
    const base64 = (media_type: string, bytes: Buffer) => ({
      type: 'base64',
      media_type,
      data: bytes.toString('base64'),
    })
    expect(gateway.upstream.calls[0]?.body['messages']).toEqual([
      {
        role: 'user',
        content: [
          {
            ...result,
            content: [hi, { type: 'image', source: base64('image/png', png) }],
          },
          { type: 'document', source: base64('application/pdf', pdf) },
          hi,
        ],
      },
    ])
  })

  test('what a prompt names by its address is fetched for a count of tokens by the same rules', async () => {
    const { asked, post, sent } = await aServer('anthropic', 'anthropic/claude-haiku-4-5')
    const counted = await post('/v1/messages/count_tokens', [picture(`${site}/picture`), hi])
    expect(counted.status).toBe(200)
    expect(asked).toHaveLength(1)
    expect(sent()).not.toContain('site.test')
    const refused = await post('/v1/messages/count_tokens', [picture('https://inside.test/'), hi])
    expect(refused.status).toBe(403)
  })

  test('what a prompt names by its address is no picture because it says so', async () => {
    const { gateway, post } = await aServer('openai', 'groq/m')
    for (const path of ['page', 'paper']) {
      const reply = await post('/v1/chat/completions', [hi, chatPicture(`${site}/${path}`)])
      expect(reply.status).toBe(400)
      expect(reply.text).toContain('messages[0].content[1].image_url.url: the file at this address')
    }
    expect(gateway.upstream.calls).toEqual([])
    expect(gateway.spentNano()).toBe(0)
  })

  test('an address in a prompt is refused with its position if the egress filter refuses it', async () => {
    const { gateway, post } = await aServer('openai', 'groq/m')
    const reply = await post('/v1/chat/completions', [hi, chatPicture('https://inside.test/')])
    expect(reply.status).toBe(403)
    expect(reply.json()).toMatchObject({ code: 'address-refused' })
    expect(reply.text).toContain('messages[0].content[1].image_url.url: site.test is not a public address')
    expect(gateway.upstream.calls).toEqual([])
  })

  test('what a prompt names by its address is bounded in number, and in bytes for all together', async () => {
    const { asked, post } = await aServer('openai', 'groq/m')
    const nine = Array.from({ length: 9 }, (_, index) => chatPicture(`${site}/picture${index}`))
    expect((await post('/v1/chat/completions', nine)).status).toBe(400)
    expect(asked).toEqual([])
    await post('/v1/chat/completions', nine.slice(0, 2))
    expect(asked.map(({ maxBytes }) => maxBytes)).toEqual([
      remoteMediaMaxBytes,
      remoteMediaMaxBytes - png.length,
    ])
  })
})
