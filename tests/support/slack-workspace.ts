import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createEmulator } from 'emulate'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { fakeRetryAfterMs } from '../../packages/inbound/src/channels/adapter.conformance.ts'
import type {
  FakeFailure,
  FakePlatform,
  ShownFileOnPlatform,
  ShownOnPlatform,
} from '../../packages/inbound/src/channels/adapter.conformance.ts'
import type { ConversationPlace } from '../../packages/inbound/src/channels/adapter.ts'
import { deadPort } from './dead-port.ts'
import { wholeBody } from './whole-body.ts'

export const slackTokens = { bot: 'xoxb-1-played', app: 'xapp-1-played', person: 'xoxp-1-played' } as const

interface Envelope {
  readonly type: 'events_api' | 'slash_commands' | 'interactive'
  readonly payload: unknown
}

interface Posted {
  readonly channel: string
  text: string
  blocks: string
  readonly threadTs: string
}

export interface SlackWorkspace {
  readonly apiUrl: string
  /** The `fetch` that an adapter uses. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly platform: FakePlatform
  readonly places: { readonly alone: ConversationPlace; readonly group: ConversationPlace }
  readonly botUserId: string
  readonly personId: string
  readonly teamId: string
  /** Posts a message without an event, as while no client is connected; returns its timestamp. */
  readonly write: (message: {
    readonly channel: string
    readonly text: string
    readonly thread_ts?: string
  }) => Promise<string>
  /** Sends an envelope until it is acknowledged; returns its id for `platform.isTaken`. */
  readonly deliver: (envelope: Envelope) => string
  /** Sends a packet unchanged over each connection. */
  readonly sendRaw: (packet: string | Uint8Array) => void
  /** Sets the number of connections in the next hello. */
  readonly helloWith: (connections: unknown) => void
  /** Number of deliveries of the envelope. */
  readonly attempts: (mark: string) => number
  /** Called methods of the Web API, in order. */
  readonly called: readonly string[]
  readonly posted: readonly Posted[]
  /** Ends a connection as Slack does: with an announcement before, or without. */
  readonly disconnect: (how: 'refresh_requested' | 'cut') => void
  readonly connections: () => number
  readonly openConnections: () => number
  /** Sets the answer to the next call of a method. */
  readonly answerNext: (method: string, answer: (response: ServerResponse) => void) => void
  /** Adds a file for download. */
  readonly upload: (name: string, bytes: Uint8Array) => Promise<{ id: string; url: string }>
  readonly close: () => Promise<void>
}

/** Slack repeats an unacknowledged envelope after a minute; here the interval is shorter. */
const againMs = 150

/**
 * A Slack workspace: the Web API is the package `emulate`; Socket Mode is written here in the format with which
 * Slack tests its own client.
 */
export async function startSlackWorkspace(): Promise<SlackWorkspace> {
  const emulator = await createEmulator({ service: 'slack', port: 0, seed })
  const called: string[] = []
  const posted: Posted[] = []
  const byTs = new Map<string, Posted>()
  const failures: FakeFailure[] = []
  const shownFiles: ShownFileOnPlatform[] = []
  const fileNames = new Map<string, string>()
  const answers = new Map<string, (response: ServerResponse) => void>()
  const envelopes = new Map<string, { envelope: Envelope; attempts: number }>()
  const taken = new Set<string>()
  const lines = new Set<WebSocket>()
  const dead = await deadPort()
  let count = 0
  let connections = 0
  let toldConnections: unknown = 1

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (line) => {
    connections++
    lines.add(line)
    line.on('close', () => lines.delete(line))
    line.on('message', (data: Buffer) => {
      const { envelope_id: id } = JSON.parse(data.toString()) as { envelope_id: string }
      taken.add(id.split('.')[0] ?? '')
    })
    line.send(
      JSON.stringify({ type: 'hello', num_connections: toldConnections, connection_info: { app_id: 'A1' } }),
    )
  })
  const again = setInterval(() => {
    for (const mark of envelopes.keys()) push(mark)
  }, againMs)

  function push(mark: string): void {
    const waiting = envelopes.get(mark)
    const [line] = lines
    if (!waiting || taken.has(mark) || line === undefined) return
    const { envelope, attempts } = waiting
    waiting.attempts++
    line.send(
      JSON.stringify({
        ...envelope,
        envelope_id: `${mark}.${attempts}`,
        accepts_response_payload: envelope.type !== 'events_api',
        ...(envelope.type === 'events_api'
          ? { retry_attempt: attempts, retry_reason: attempts === 0 ? '' : 'timeout' }
          : {}),
      }),
    )
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await wholeBody(request)
    const path = request.url ?? ''
    const method = path.replace(/^\/api\//, '')
    called.push(method)
    const scripted = answers.get(method)
    if (scripted) {
      answers.delete(method)
      scripted(response)
      return
    }
    if (method === 'apps.connections.open') {
      const isApp = request.headers.authorization === `Bearer ${slackTokens.app}`
      sayJson(
        response,
        isApp ? { ok: true, url: `ws://127.0.0.1:${port}/link` } : { ok: false, error: 'invalid_auth' },
      )
      return
    }
    const isMessage = method === 'chat.postMessage' || method === 'chat.update'
    const failure = isMessage ? failures.shift() : undefined
    if (failure === 'rate-limited') {
      response.writeHead(429, { 'retry-after': String(fakeRetryAfterMs / 1000) }).end()
      return
    }
    if (failure === 'gone' || failure === 'refused') {
      sayJson(response, { ok: false, error: failure === 'gone' ? 'is_archived' : 'invalid_blocks' })
      return
    }
    const { authorization = '', 'content-type': contentType = '' } = request.headers
    const reply = await fetch(`${emulator.url}${path}`, {
      method: request.method ?? 'POST',
      headers: { authorization, 'content-type': contentType },
      ...(request.method === 'GET' ? {} : { body: new Uint8Array(body ?? []) }),
    })
    const bytes = Buffer.from(await reply.arrayBuffer())
    if (isMessage)
      note(new URLSearchParams(body?.toString()), JSON.parse(bytes.toString()) as { ts?: string })
    if (method.startsWith('files.')) await noteFile(method, body?.toString() ?? '', bytes.toString())
    if (failure === 'cut-after') {
      response.destroy()
      return
    }
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' }).end(bytes)
  }

  function note(form: URLSearchParams, reply: { ts?: string }): void {
    if (reply.ts === undefined) return
    const known = byTs.get(reply.ts)
    const text = form.get('text') ?? ''
    const blocks = form.get('blocks') ?? ''
    if (known) {
      known.text = text
      known.blocks = blocks
      return
    }
    const fresh = { channel: form.get('channel') ?? '', text, blocks, threadTs: form.get('thread_ts') ?? '' }
    posted.push(fresh)
    byTs.set(reply.ts, fresh)
  }

  async function noteFile(method: string, body: string, answered: string): Promise<void> {
    const form = new URLSearchParams(body)
    const reply = JSON.parse(answered) as { file_id?: string }
    if (reply.file_id !== undefined) fileNames.set(reply.file_id, form.get('filename') ?? '')
    if (method !== 'files.completeUploadExternal') return
    for (const { id } of JSON.parse(form.get('files') ?? '[]') as { id: string }[]) {
      const name = fileNames.get(id) ?? ''
      const headers = { authorization: `Bearer ${slackTokens.bot}` }
      const kept = await fetch(`${emulator.url}/files-pri/${id}/${name}`, { headers })
      const bytes = new Uint8Array(await kept.arrayBuffer())
      shownFiles.push({ conversationId: form.get('channel_id') ?? '', name, bytes })
    }
  }

  const ask = async (method: string, form: Record<string, string>, token: string = slackTokens.bot) => {
    const reply = await fetch(`${emulator.url}/api/${method}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form),
    })
    return (await reply.json()) as Record<string, unknown>
  }
  const self = await ask('auth.test', {})
  const users = (await ask('users.list', {}))['members'] as { id: string; name: string }[]
  const channels = (await ask('conversations.list', {}))['channels'] as { id: string; name: string }[]
  const personId = users.find(({ name }) => name === 'ann')?.id ?? ''
  const opened = (await ask('conversations.open', { users: personId }))['channel'] as { id: string }
  const teamId = String(self['team_id'])
  const botUserId = String(self['user_id'])
  const groupId = channels.find(({ name }) => name === 'general')?.id ?? ''

  function deliver(envelope: Envelope): string {
    const mark = `e${++count}`
    envelopes.set(mark, { envelope, attempts: 0 })
    push(mark)
    return mark
  }

  async function upload(name: string, bytes: Uint8Array): Promise<{ id: string; url: string }> {
    const { upload_url: url, file_id: id } = await ask('files.getUploadURLExternal', {
      filename: name,
      length: String(bytes.byteLength),
    })
    await fetch(String(url), { method: 'POST', body: new Uint8Array(bytes) })
    await ask('files.completeUploadExternal', {
      files: JSON.stringify([{ id }]),
      channel_id: groupId,
    })
    return { id: String(id), url: `http://127.0.0.1:${port}/files-pri/${String(id)}/${name}` }
  }

  return {
    apiUrl: `http://127.0.0.1:${port}/api/`,
    fetch: (url, init) => {
      const isMessage = url.endsWith('/chat.postMessage') || url.endsWith('/chat.update')
      if (!isMessage || failures[0] !== 'unreachable') return fetch(url, init)
      failures.shift()
      return fetch(`http://127.0.0.1:${dead}/`, init)
    },
    platform: {
      say: async ({ place, text, by, addressed, file }) => {
        const { id, url } = file ? await upload(file.name, file.bytes) : { id: '', url: '' }
        const shared = file && {
          subtype: 'file_share',
          files: [
            {
              id,
              name: file.name,
              mimetype: file.mediaType,
              size: file.bytes.length,
              url_private_download: url,
            },
          ],
        }
        return deliver(
          aMessage({
            ...shared,
            team: teamId,
            user: personId,
            channel: place.conversationId,
            channel_type: place.isPrivate ? 'im' : 'channel',
            text: !place.isPrivate && addressed ? `<@${botUserId}> ${text}` : text,
            ts: `1700000000.${String(++count).padStart(6, '0')}`,
            ...(by === 'bot' ? { bot_id: 'B0OTHER' } : {}),
          }),
        )
      },
      isTaken: (mark) => taken.has(mark),
      shown: (): ShownOnPlatform[] => posted.map(({ channel, text }) => ({ conversationId: channel, text })),
      shownFiles: () => shownFiles,
      failNext: (how) => void failures.push(how),
    },
    places: {
      alone: { conversationId: opened.id, threadId: null, isPrivate: true },
      group: { conversationId: groupId, threadId: null, isPrivate: false },
    },
    botUserId,
    personId,
    teamId,
    write: async (message) =>
      String((await ask('chat.postMessage', { ...message }, slackTokens.person))['ts']),
    deliver,
    sendRaw: (packet) => {
      for (const line of lines) line.send(packet)
    },
    helloWith: (told) => void (toldConnections = told),
    attempts: (mark) => envelopes.get(mark)?.attempts ?? 0,
    called,
    posted,
    disconnect: (how) => {
      for (const line of lines) {
        if (how === 'cut') line.terminate()
        else line.send(JSON.stringify({ type: 'disconnect', reason: how, debug_info: { host: 'played' } }))
      }
    },
    connections: () => connections,
    openConnections: () => sockets.clients.size,
    answerNext: (method, how) => void answers.set(method, how),
    upload,
    close: async () => {
      clearInterval(again)
      for (const line of lines) line.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await emulator.close()
    },
  }
}

export function aMessage(event: Readonly<Record<string, unknown>>): Envelope {
  return {
    type: 'events_api',
    payload: {
      type: 'event_callback',
      team_id: event['team'],
      event_id: `Ev${String(event['ts'])}`,
      event: { type: 'message', ...event },
    },
  }
}

export function sayJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const seed = {
  slack: {
    users: [{ name: 'ann', real_name: 'Ann Example' }],
    channels: [{ name: 'general' }],
    bots: [{ name: 'flotilla' }],
    tokens: [
      { token: slackTokens.bot, type: 'bot' },
      { token: slackTokens.person, type: 'user', user: 'ann' },
    ],
  },
}
