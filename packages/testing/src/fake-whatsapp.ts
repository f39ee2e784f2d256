import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { jsonLimits } from '@flotilla/protocol/limits'
import { fakeRetryAfterMs } from '../../inbound/src/channels/adapter.conformance.ts'
import type {
  FakeFailure,
  FakePlatform,
  ShownFileOnPlatform,
  ShownOnPlatform,
} from '../../inbound/src/channels/adapter.conformance.ts'
import type { CallbackRequest, ChannelAdapter } from '../../inbound/src/channels/adapter.ts'
import { readJson } from '../../foundation/src/intake/index.ts'
import { listenAsPlatform } from './listen-as-platform.ts'

export const fakeWhatsApp = {
  appSecret: 'app-secret',
  phoneNumberId: '106540352242922',
  ownNumber: '15550783881',
  places: {
    alone: { conversationId: '16505551234', threadId: null, isPrivate: true },
    group: { conversationId: 'Y2FwaV9ncm91cDox', threadId: null, isPrivate: false },
  },
} as const

export interface FakeGraph {
  readonly root: string
  readonly calls: readonly GraphCall[]
  readonly shown: () => readonly ShownOnPlatform[]
  readonly shownFiles: () => readonly ShownFileOnPlatform[]
  readonly failNext: (how: FakeFailure) => void
  /** Sets the answer of a path below the root. */
  readonly answer: (path: string, status: number, body: string | Uint8Array) => void
  readonly openSockets: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface GraphCall {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly raw: string
}

/** Starts a fake of the Graph API for one business number. */
export async function startFakeGraph(): Promise<FakeGraph> {
  const calls: GraphCall[] = []
  const failures: FakeFailure[] = []
  const shown: ShownOnPlatform[] = []
  const shownFiles: ShownFileOnPlatform[] = []
  const uploads = new Map<string, Uint8Array>()
  const answers = new Map<string, { readonly status: number; readonly body: string | Uint8Array }>()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = []
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const path = (request.url ?? '').replace('/v23.0/', '')
    calls.push({
      method: request.method ?? '',
      path,
      authorization: request.headers.authorization,
      raw: raw.toString(),
    })
    const known = answers.get(path)
    if (known) return void response.writeHead(known.status).end(known.body)
    if (path.endsWith('/media')) return void response.end(JSON.stringify({ id: await upload(request, raw) }))
    if (!path.endsWith('/messages')) {
      return void response.end(
        JSON.stringify({ id: 'm1', display_phone_number: `+${fakeWhatsApp.ownNumber}` }),
      )
    }
    const failure = failures.shift()
    if (failure !== undefined && failure !== 'cut-after') {
      const { status, code } = refusals[failure as keyof typeof refusals]
      response.writeHead(
        status,
        failure === 'rate-limited' ? { 'retry-after': String(fakeRetryAfterMs / 1000) } : {},
      )
      return void response.end(JSON.stringify({ error: { code, message: 'it is a fake' } }))
    }
    const body = readJson(raw, jsonLimits.body) as {
      readonly to?: string
      readonly text?: { readonly body: string }
      readonly interactive?: { readonly body: { readonly text: string } }
      readonly document?: { readonly id: string; readonly filename: string }
    }
    const { to = '', document } = body
    if (document) {
      const bytes = uploads.get(document.id) ?? new Uint8Array()
      shownFiles.push({ conversationId: to, name: document.filename, bytes })
    }
    const text = body.text?.body ?? body.interactive?.body.text ?? ''
    if (body.to !== undefined) shown.push({ conversationId: body.to, text })
    if (failure === 'cut-after') return void response.destroy()
    response.end(JSON.stringify({ messages: [{ id: `wamid.${shown.length}` }] }))
  }

  async function upload({ headers }: IncomingMessage, raw: Uint8Array): Promise<string> {
    const type = headers['content-type'] ?? ''
    const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData()
    const file = form.get('file')
    const id = `m${uploads.size + 1}`
    uploads.set(id, file instanceof File ? new Uint8Array(await file.arrayBuffer()) : new Uint8Array())
    return id
  }

  const { origin, openSockets, close } = await listenAsPlatform(serve)
  return {
    root: `${origin}/v23.0`,
    calls,
    shown: () => shown,
    shownFiles: () => shownFiles,
    failNext: (how) => {
      if (how === 'unreachable') throw new Error('a server that runs can be reached')
      failures.push(how)
    },
    answer: (path, status, body) => void answers.set(path, { status, body }),
    openSockets,
    close,
  }
}

const refusals = {
  'rate-limited': { status: 400, code: 130429 },
  gone: { status: 400, code: 131047 },
  refused: { status: 400, code: 100 },
} as const

/** A callback as Meta sends and signs it. */
export function signedCallback(
  body: string | Uint8Array,
  secret: string = fakeWhatsApp.appSecret,
): CallbackRequest {
  const bytes = Buffer.from(body)
  const signature = createHmac('sha256', secret).update(bytes).digest('hex')
  return { method: 'POST', query: {}, headers: { 'x-hub-signature-256': `sha256=${signature}` }, body: bytes }
}

export interface CallbackMessage {
  readonly id: string
  readonly text: string
  readonly more?: object
}

/** One entry with one change that has these messages. */
export function callbackEntry(
  messages: readonly CallbackMessage[],
  phoneNumberId: string = fakeWhatsApp.phoneNumberId,
) {
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: fakeWhatsApp.ownNumber, phone_number_id: phoneNumberId },
    contacts: [{ profile: { name: 'Sheena Nelson' }, wa_id: '16505551234' }],
    messages: messages.map(({ id, text, more }) => ({
      from: '16505551234',
      id,
      timestamp: String(Math.floor(Date.now() / 1000)),
      type: 'text',
      text: { body: text },
      ...more,
    })),
  }
  return { id: '102290129340398', changes: [{ value, field: 'messages' }] }
}

export function callbackOf(...entry: readonly object[]): string {
  return JSON.stringify({ object: 'whatsapp_business_account', entry })
}

/** Plays Meta: repeats a callback until it is accepted. */
export function playMeta(
  adapter: ChannelAdapter,
  graph: FakeGraph,
): { readonly platform: FakePlatform; readonly end: () => void } {
  const taken = new Set<string>()
  const ending = new AbortController()
  let count = 0
  async function give(id: string, request: CallbackRequest): Promise<void> {
    while (!ending.signal.aborted && !taken.has(id)) {
      const reply = await adapter.receiveRequest?.(request)
      if (reply?.status === 200) taken.add(id)
      else await delay(10)
    }
  }
  return {
    platform: {
      say: async ({ place, text, by, addressed, file }) => {
        const id = `wamid.in${++count}`
        const mediaId = `in${count}`
        if (file) {
          const url = `${graph.root}/bytes-${mediaId}`
          const path = `${mediaId}?phone_number_id=${fakeWhatsApp.phoneNumberId}`
          graph.answer(path, 200, JSON.stringify({ url, file_size: file.bytes.length }))
          graph.answer(`bytes-${mediaId}`, 200, file.bytes)
        }
        const document = file && {
          type: 'document',
          text: null,
          document: { id: mediaId, filename: file.name, mime_type: file.mediaType, caption: text },
        }
        const more = {
          ...document,
          ...(by === 'bot' ? { from: fakeWhatsApp.ownNumber } : {}),
          ...(place.isPrivate ? {} : { group_id: place.conversationId }),
          ...(addressed && !place.isPrivate
            ? { context: { from: fakeWhatsApp.ownNumber, id: 'wamid.x' } }
            : {}),
        }
        void give(id, signedCallback(callbackOf(callbackEntry([{ id, text, more }]))))
        return id
      },
      isTaken: (mark) => taken.has(mark),
      shown: graph.shown,
      shownFiles: graph.shownFiles,
      failNext: graph.failNext,
    },
    end: () => ending.abort(),
  }
}
