import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { httpCall } from './http-call.ts'
import type { Reply } from './http-call.ts'

export interface ShownEvent {
  readonly type: string
  readonly message_id: string
  readonly conversation: string
  readonly text: string
  readonly buttons: readonly { readonly label: string; readonly value: string }[]
  /** File name, if the event is a file. */
  readonly name?: string
  readonly content_base64?: string
}

/** A chat platform for the webhook channel: signs messages, verifies events, and processes each id once. */
export async function aWebhookPlatform() {
  const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const signer = new Webhook(secret)
  const shown: ShownEvent[] = []
  const seen = new Set<string>()
  /** Events in order of arrival, including repeats. */
  const arrived: string[] = []
  const files = new Map<string, string>()
  const state: {
    onEvent: ((event: ShownEvent) => Promise<void>) | null
    onFetch: (() => Promise<void>) | null
  } = { onEvent: null, onFetch: null }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      request.method === 'GET' ? void give() : void answer(Buffer.concat(chunks).toString()),
    )

    async function give(): Promise<void> {
      await state.onFetch?.()
      const head = request.headers
      const at = new Date(Number(head['webhook-timestamp']) * 1000)
      const isSigned = head['webhook-signature'] === signer.sign(String(head['webhook-id']), at, '')
      const content = files.get(request.url ?? '')
      response.writeHead(content === undefined ? 404 : isSigned ? 200 : 401).end(isSigned ? content : '')
    }

    async function answer(body: string): Promise<void> {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      const event = signer.verify(body, headers) as ShownEvent
      const id = headers['webhook-id'] ?? ''
      arrived.push(id)
      const index = shown.findIndex((known) => known.message_id === event.message_id)
      if (event.type === 'message.edited' && index !== -1) shown[index] = event
      else if (!seen.has(id)) shown.push(event)
      seen.add(id)
      await state.onEvent?.(event)
      response.writeHead(204).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    secret,
    url: `http://127.0.0.1:${port}/flotilla`,
    shown,
    arrived,
    /** Sets a listener that runs before an event is answered; null removes it. */
    onEvent: (listener: ((event: ShownEvent) => Promise<void>) | null) => void (state.onEvent = listener),
    /** Sets a listener that runs before a file is served. */
    onFetch: (listener: (() => Promise<void>) | null) => void (state.onFetch = listener),
    in: (conversation: string) =>
      shown.filter((event) => event.conversation === conversation && event.type !== 'file.sent'),
    filesIn: (conversation: string) =>
      shown.flatMap(({ conversation: where, name, content_base64: content = '' }) =>
        where === conversation && name !== undefined
          ? [{ name, text: Buffer.from(content, 'base64').toString() }]
          : [],
      ),
    /** Adds a file that a person sends, in the form that a delivery contains. */
    file: (name: string, content: string) => {
      const path = `/files/${encodeURIComponent(name)}`
      files.set(path, content)
      return { name, media_type: 'text/plain', size: content.length, url: `http://127.0.0.1:${port}${path}` }
    },
    /** Delivers a person's message once. */
    deliver: (meshUrl: string, id: string, said: object): Promise<Reply> => {
      const body = JSON.stringify({ sender: 'intranet:ann', ...said })
      const at = new Date()
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signer.sign(id, at, body),
      }
      return httpCall({ method: 'POST', url: `${meshUrl}/channel/webhook`, body, headers })
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
