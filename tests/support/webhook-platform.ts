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
}

/** A chat platform that speaks the webhook channel: signs what people say, checks what it is told, keeps each id once. */
export async function aWebhookPlatform() {
  const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const signer = new Webhook(secret)
  const shown: ShownEvent[] = []
  const seen = new Set<string>()
  /** Events by arrival, repeats too. */
  const arrived: string[] = []
  const state: { onEvent: ((event: ShownEvent) => Promise<void>) | null } = { onEvent: null }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void answer(Buffer.concat(chunks).toString()))

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
    /** What is done with an event before it is answered; null for nothing. */
    onEvent: (listener: ((event: ShownEvent) => Promise<void>) | null) => void (state.onEvent = listener),
    in: (conversation: string) => shown.filter((event) => event.conversation === conversation),
    /** Delivers once what somebody says. */
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
