import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/secret.ts'
import { systemClock } from '../../../../../foundation/src/platform/system-clock.ts'
import { recordReceived } from '../../../../../testing/src/record-received.ts'
import { channelAdapterConformance, fakeRetryAfterMs } from '../../adapter.conformance.ts'
import type { ChannelUnderTest, FakeFailure } from '../../adapter.conformance.ts'
import type { CallbackRequest } from '../../adapter.ts'
import { createWebhookChannel } from './index.ts'

const secretText = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const signer = new Webhook(secretText)

interface Posted {
  readonly type: string
  readonly message_id: string
  readonly conversation: string
  readonly text: string
  readonly name?: string
  readonly content_base64?: string
}

/** An endpoint for `channels.webhook.url` that verifies signatures and keeps each id once. */
async function aReceiver() {
  const shown: Posted[] = []
  const seen = new Set<string>()
  const failures: FakeFailure[] = []
  const files = new Map<string, Uint8Array>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method === 'GET') {
        const head = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        )
        const [path = '', id = ''] = [request.url, head['webhook-id']]
        const [at, signature] = [head['webhook-timestamp'], head['webhook-signature']]
        const isSigned = signature === signer.sign(id, new Date(Number(at) * 1000), '')
        const bytes = isSigned ? files.get(path) : undefined
        response.writeHead(bytes ? 200 : isSigned ? 404 : 401).end(bytes)
        return
      }
      const failure = failures.shift()
      if (failure === 'rate-limited') {
        response.writeHead(429, { 'retry-after': String(fakeRetryAfterMs / 1000) }).end()
        return
      }
      if (failure === 'gone') return void response.writeHead(410).end()
      if (failure === 'refused') return void response.writeHead(401).end()
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      const event = signer.verify(Buffer.concat(chunks).toString(), headers) as Posted
      const id = headers['webhook-id'] ?? ''
      const index = shown.findIndex(({ message_id: known }) => known === event.message_id)
      if (event.type === 'message.edited' && index !== -1) shown[index] = event
      else if (!seen.has(id)) shown.push(event)
      seen.add(id)
      if (failure === 'cut-after') request.socket.destroy()
      else response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/flotilla`,
    shown,
    /** Its address once it is started. */
    keep: (name: string, bytes: Uint8Array) => {
      files.set(`/files/${name}`, bytes)
      return `http://127.0.0.1:${port}/files/${name}`
    },
    failNext: (how: FakeFailure) => void failures.push(how),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function signed(body: string, id: string, at = new Date()): CallbackRequest {
  return {
    method: 'POST',
    query: {},
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signer.sign(id, at, body),
    },
    body: Buffer.from(body),
  }
}

const create = (url: string | null) =>
  createWebhookChannel({
    secret: createSecret('channel_webhook_secret', secretText),
    url,
    proxies: noProxies,
    clock: systemClock,
  })

async function open(): Promise<ChannelUnderTest> {
  const receiver = await aReceiver()
  const adapter = create(receiver.url)
  const taken = new Set<string>()
  const closing = new AbortController()
  let count = 0

  /** Repeats until a 2xx, as the standard requires. */
  async function deliver(id: string, body: string): Promise<void> {
    while (!closing.signal.aborted) {
      const answer = await adapter.receiveRequest?.(signed(body, id)).catch(() => ({ status: 500 }))
      if (answer !== undefined && answer.status < 300) return void taken.add(id)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  return {
    adapter,
    places: {
      alone: { conversationId: 'c-1', threadId: null, isPrivate: true },
      group: { conversationId: 'c-2', threadId: null, isPrivate: false },
    },
    platform: {
      say: async ({ place, text, by, addressed, file }) => {
        const id = `msg_${++count}`
        // The other system sends only messages of people, never of bots.
        if (by === 'bot') return id
        const { conversationId: conversation, isPrivate } = place
        const files = file
          ? [
              {
                name: file.name,
                media_type: file.mediaType,
                size: file.bytes.length,
                url: receiver.keep(file.name, file.bytes),
              },
            ]
          : []
        const body = { sender: 'intranet:ann', conversation, private: isPrivate, addressed, text, files }
        void deliver(id, JSON.stringify(body))
        return id
      },
      isTaken: (id) => taken.has(id),
      shownFiles: () =>
        receiver.shown.flatMap(({ conversation, name, content_base64: content }) =>
          name === undefined
            ? []
            : [{ conversationId: conversation, name, bytes: Buffer.from(content ?? '', 'base64') }],
        ),
      shown: () => receiver.shown.map(({ conversation, text }) => ({ conversationId: conversation, text })),
      failNext: receiver.failNext,
    },
    close: async () => {
      closing.abort()
      await receiver.close()
    },
  }
}

channelAdapterConformance('webhook', open, {
  sendsAgain: true,
  failures: ['rate-limited', 'gone', 'refused', 'cut-after'],
})

describe('a request to the webhook channel', () => {
  const body = JSON.stringify({ sender: 'intranet:ann', conversation: 'c', text: 'hi' })

  async function heardOf(request: CallbackRequest) {
    const adapter = create('http://127.0.0.1:9/')
    const heard: string[] = []
    await adapter.start({
      received: async ({ text }) => void heard.push(text),
      stateChanged: () => {},
      passedOver: () => {},
    })
    return { answer: await adapter.receiveRequest?.(request), heard }
  }

  test('a message that is signed by an independent library arrives on the webhook channel', async () => {
    expect(await heardOf(signed(body, 'msg_1'))).toMatchObject({ answer: { status: 202 }, heard: ['hi'] })
  })

  test.each([
    ['another body', { ...signed(body, 'msg_1'), body: Buffer.from(body.replace('hi', 'ho')) }],
    [
      'another id',
      { ...signed(body, 'msg_1'), headers: { ...signed(body, 'msg_1').headers, 'webhook-id': 'msg_2' } },
    ],
    ['an old timestamp', signed(body, 'msg_1', new Date(Date.now() - 600_000))],
    ['no signature', { ...signed(body, 'msg_1'), headers: {} }],
    [
      'a signature over the body only',
      { ...signed(body, 'msg_1'), headers: { 'x-webhook-signature': 'a'.repeat(64) } },
    ],
  ])('a webhook message is rejected with %s', async (_what, request) => {
    expect(await heardOf(request)).toMatchObject({ answer: { status: 401 }, heard: [] })
  })

  test.each([
    ['a field of another type', { sender: 1 }, /sender/],
    ['no conversation', { conversation: undefined }, /conversation/],
    ['a sender without a system name', { sender: 'ann' }, /^sender must be the name of your system/],
    ['a sender with a space', { sender: 'intranet:ann lee' }, /intranet:ann/],
  ])('a webhook message is rejected with a repair if it has %s', async (_what, said, detail) => {
    const good = { conversation: 'c', sender: 'intranet:ann', text: 'hi' }
    await expect(heardOf(signed(JSON.stringify({ ...good, ...said }), 'msg_1'))).rejects.toMatchObject({
      code: 'bad-request',
      detail: expect.stringMatching(detail),
      repair: expect.stringContaining('docs/channels.md'),
    })
  })

  test('a webhook message with an overlong id is rejected', async () => {
    await expect(heardOf(signed(body, 'm'.repeat(201)))).rejects.toMatchObject({ code: 'bad-request' })
  })

  test('without a server at the URL, an answer is certainly not delivered', async () => {
    const receiver = await aReceiver()
    await receiver.close()
    const place = { conversationId: 'c', threadId: null, isPrivate: true }
    const sending = create(receiver.url).send(
      { place, clientId: 'a-0', text: 'x', buttons: [], replyToId: null },
      new AbortController().signal,
    )
    await expect(sending).rejects.toMatchObject({ name: 'ChannelFailure', kind: 'unreachable' })
  })

  test('the webhook channel without a URL or with a short secret is not configured, and the reason hides the secret', () => {
    expect(() => create(null)).toThrow(expect.objectContaining({ code: 'not-configured' }))
    const secret = createSecret('channel_webhook_secret', 'whsec_c2hvcnQ=')
    const short = () =>
      createWebhookChannel({ secret, url: 'http://127.0.0.1:9/', proxies: noProxies, clock: systemClock })
    expect(short).toThrow(expect.objectContaining({ detail: expect.not.stringContaining('c2hvcnQ') }))
  })
})

test('a webhook message that is marked as forwarded has no text, file or button of the sender', async () => {
  const receiver = await aReceiver()
  const adapter = create(receiver.url)
  const { heard, starting } = recordReceived(adapter)
  await starting
  const said = {
    sender: 'intranet:ann',
    conversation: '42',
    text: '/stop',
    pressed: 'use:scout',
    forwarded: true,
  }
  await adapter.receiveRequest?.(signed(JSON.stringify(said), 'forwarded-1'))
  expect(heard).toMatchObject([
    { text: '', pressed: null, attachments: [], forwarded: { text: '/stop', by: '' } },
  ])
  await adapter.close()
  await receiver.close()
})
