import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { fakeRetryAfterMs } from '../../packages/inbound/src/channels/adapter.conformance.ts'
import type {
  FakeFailure,
  FakePlatform,
  ShownFileOnPlatform,
} from '../../packages/inbound/src/channels/adapter.conformance.ts'
import type { ConversationPlace } from '../../packages/inbound/src/channels/adapter.ts'
import { discordBody } from './discord-body.ts'
import { deadPort } from './dead-port.ts'
import { wholeBody } from './whole-body.ts'

export const discordToken = 'played.discord.token'

/** A gateway session of one token, as Discord's gateway keeps it. */
interface Session {
  readonly id: string
  readonly events: { readonly s: number; readonly t: string; readonly d: unknown }[]
  isExpired: boolean
}

interface KeptMessage extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly channel_id: string
  content: string
  components?: unknown
}

export interface DiscordCall {
  readonly method: string
  /** Path without the API version. */
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly contentType: string
}

export interface DiscordServer {
  readonly api: string
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly platform: Omit<FakePlatform, 'isTaken'>
  readonly places: { readonly alone: ConversationPlace; readonly group: ConversationPlace }
  readonly ids: {
    readonly bot: string
    readonly person: string
    readonly guild: string
    readonly thread: string
  }
  readonly calls: readonly DiscordCall[]
  /** Names of the operations that the gateway received. */
  readonly heard: readonly string[]
  /** Posts a message: adds it to the history and sends it to connected clients. Returns the message id. */
  readonly write: (fields: Readonly<Record<string, unknown>> & { readonly channel_id: string }) => string
  readonly dispatch: (t: string, d: unknown) => void
  /** Sends a packet unchanged to every connected client. */
  readonly sendRaw: (packet: string | Uint8Array) => void
  /** Fields that replace the defaults in READY. */
  readonly readyWith: (fields: Readonly<Record<string, unknown>>) => void
  readonly drop: () => void
  readonly ask: (op: 1 | 7) => void
  /** The close code that the next sessions get instead of READY; null accepts sessions again. */
  readonly refuseWith: (code: number | null) => void
  readonly expireSession: () => void
  /** Forgets nonces, as Discord does after a few minutes. */
  readonly forgetNonces: () => void
  /** Closes all connections with this code. */
  readonly closeWith: (code: number) => void
  readonly openConnections: () => number
  readonly failRequests: (path: RegExp, answer: ((response: ServerResponse) => void) | null) => void
  readonly connections: () => number
  readonly newId: () => string
  readonly close: () => Promise<void>
}

const discordEpochMs = 1_420_070_400_000

/**
 * Discord's REST API and gateway, as far as discord.js and the adapter use them: one guild, one channel, one
 * thread, one person.
 */
export async function startDiscordServer({ heartbeatMs = 20_000 } = {}): Promise<DiscordServer> {
  let count = 0
  const newId = () => ((BigInt(Date.now() - discordEpochMs) << 22n) + BigInt(++count)).toString()
  const ids = { bot: newId(), person: newId(), guild: newId(), thread: newId() }
  const alone = newId()
  const group = newId()
  const messages: KeptMessage[] = []
  const byNonce = new Map<string, KeptMessage>()
  const failures: FakeFailure[] = []
  const attached = new Map<string, Uint8Array>()
  const shownFiles: ShownFileOnPlatform[] = []
  const calls: DiscordCall[] = []
  const received: string[] = []
  const lines = new Map<WebSocket, Session>()
  const dead = await deadPort()
  let session: Session | null = null
  let refusal: number | null = null
  let failing: { path: RegExp; answer: (response: ServerResponse) => void } | null = null
  let connections = 0
  let readyFields: Readonly<Record<string, unknown>> = {}

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (line) => {
    connections++
    line.send(JSON.stringify({ op: 10, d: { heartbeat_interval: heartbeatMs } }))
    line.on('close', () => lines.delete(line))
    line.on('message', (data: Buffer) => {
      const { op, d } = JSON.parse(data.toString()) as { op: number; d: Record<string, unknown> }
      received.push(opNames[op] ?? `op ${op}`)
      if (op === 1) line.send(JSON.stringify({ op: 11 }))
      if (op === 2) identify(line, d)
      if (op === 6) resume(line, d)
    })
  })

  function identify(line: WebSocket, d: Record<string, unknown>): void {
    if (refusal !== null || d['token'] !== discordToken) {
      line.close(refusal ?? 4004)
      return
    }
    session = { id: `session-${newId()}`, events: [], isExpired: false }
    lines.set(line, session)
    dispatch('READY', {
      v: 10,
      user: { id: ids.bot, username: 'flotilla', discriminator: '0', bot: true },
      guilds: [{ id: ids.guild, unavailable: true }],
      session_id: session.id,
      resume_gateway_url: `ws://127.0.0.1:${port}/`,
      application: { id: ids.bot, flags: 0 },
      ...readyFields,
    })
    dispatch('GUILD_CREATE', guild())
  }

  function resume(line: WebSocket, { session_id: id, seq }: Record<string, unknown>): void {
    if (session === null || session.id !== id || session.isExpired) {
      line.send(JSON.stringify({ op: 9, d: false }))
      return
    }
    for (const event of session.events)
      if (event.s > Number(seq)) line.send(JSON.stringify({ op: 0, ...event }))
    lines.set(line, session)
    dispatch('RESUMED', {})
  }

  function dispatch(t: string, d: unknown): void {
    if (session === null) return
    const event = { s: session.events.length + 1, t, d }
    session.events.push(event)
    for (const [line, of] of lines) if (of === session) line.send(JSON.stringify({ op: 0, ...event }))
  }

  const lastIn = (channelId: string) => messages.findLast((one) => one.channel_id === channelId)?.id ?? null
  const textChannel = () => ({
    id: group,
    type: 0,
    guild_id: ids.guild,
    name: 'general',
    position: 0,
    permission_overwrites: [],
    last_message_id: lastIn(group),
  })
  const thread = () => ({
    id: ids.thread,
    type: 11,
    guild_id: ids.guild,
    parent_id: group,
    owner_id: ids.person,
    name: 'a thread',
    member_count: 1,
    message_count: 0,
    thread_metadata: {
      archived: false,
      auto_archive_duration: 60,
      archive_timestamp: new Date().toISOString(),
    },
    last_message_id: lastIn(ids.thread),
  })
  const guild = () => ({
    id: ids.guild,
    name: 'A guild',
    channels: [textChannel()],
    threads: [thread()],
  })

  function write(fields: Readonly<Record<string, unknown>> & { readonly channel_id: string }): string {
    const isDirect = fields.channel_id === alone
    const message: KeptMessage = {
      id: newId(),
      type: 0,
      content: '',
      author: { id: ids.person, username: 'ann', global_name: 'Ann', discriminator: '0' },
      mentions: [],
      mention_roles: [],
      attachments: [],
      embeds: [],
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      pinned: false,
      ...fields,
    }
    messages.push(message)
    // A message in the REST history has no guild id, a message from the gateway has.
    dispatch('MESSAGE_CREATE', isDirect ? message : { ...message, guild_id: ids.guild })
    return message.id
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await wholeBody(request)
    const url = new URL(request.url ?? '/', 'http://discord.test')
    const path = url.pathname.replace(/^\/api\/v10/, '')
    const contentType = request.headers['content-type'] ?? ''
    const body = await discordBody(bytes ?? Buffer.alloc(0), contentType)
    calls.push({ method: request.method ?? '', path, body, contentType })
    if (failing?.path.test(path)) return failing.answer(response)
    if (path.startsWith('/attachments/'))
      return void response.writeHead(200).end(attached.get(path) ?? 'attached')
    const needsToken = !path.startsWith('/interactions/') && !path.startsWith('/webhooks/')
    if (needsToken && request.headers.authorization !== `Bot ${discordToken}`) {
      return sayDiscord(response, 401, { message: '401: Unauthorized', code: 0 })
    }
    route(request.method ?? '', { path, query: url.searchParams, body }, response)
  }

  function route(
    method: string,
    { path, query, body }: { path: string; query: URLSearchParams; body: Record<string, unknown> },
    response: ServerResponse,
  ): void {
    const [, , channelId = '', , messageId] = path.split('/')
    if (path === '/users/@me') return sayDiscord(response, 200, { id: ids.bot, username: 'flotilla' })
    if (path === '/gateway/bot') {
      return sayDiscord(response, 200, {
        url: `ws://127.0.0.1:${port}`,
        shards: 1,
        session_start_limit: { total: 1000, remaining: 999, reset_after: 0, max_concurrency: 1 },
      })
    }
    if (/^\/channels\/\d+\/messages$/.test(path) && method === 'GET') {
      const after = BigInt(query.get('after') ?? '0')
      const limit = Number(query.get('limit') ?? '50')
      const page = messages
        .filter((one) => one.channel_id === channelId && BigInt(one.id) > after)
        .slice(0, limit)
        .toReversed()
      return sayDiscord(response, 200, page)
    }
    if (/^\/channels\/\d+\/messages(?:\/\d+)?$/.test(path))
      return change(body, { channelId, messageId, response })
    if (/^\/channels\/\d+$/.test(path)) {
      const channel = [textChannel(), thread()].find(({ id }) => id === channelId)
      return channelId === alone
        ? sayDiscord(response, 200, { id: alone, type: 1, recipients: [] })
        : sayDiscord(response, channel ? 200 : 404, channel ?? { message: 'Unknown Channel', code: 10003 })
    }
    if (path.startsWith('/applications/')) return sayDiscord(response, 200, [])
    response.writeHead(204).end()
  }

  function change(
    body: Record<string, unknown>,
    at: { channelId: string; messageId: string | undefined; response: ServerResponse },
  ): void {
    const { response } = at
    const failure = failures.shift()
    if (failure === 'rate-limited') {
      const seconds = fakeRetryAfterMs / 1000
      response.setHeader('retry-after', String(seconds))
      return sayDiscord(response, 429, {
        message: 'You are being rate limited.',
        retry_after: seconds,
        global: false,
      })
    }
    if (failure === 'gone') return sayDiscord(response, 403, { message: 'Missing Access', code: 50001 })
    if (failure === 'refused') return sayDiscord(response, 400, { message: 'Invalid Form Body', code: 50035 })
    const message = at.messageId === undefined ? post(body, at.channelId) : edit(body, at.messageId)
    if (failure === 'cut-after') return void response.destroy()
    sayDiscord(response, message ? 200 : 404, message ?? { message: 'Unknown Message', code: 10008 })
  }

  function post(body: Record<string, unknown>, channelId: string): KeptMessage | undefined {
    const nonce = `${channelId}:${String(body['nonce'])}`
    const known = body['enforce_nonce'] === true ? byNonce.get(nonce) : undefined
    if (known) return known
    const file = body['file'] as { name: string; bytes: Uint8Array } | null | undefined
    if (file) shownFiles.push({ conversationId: channelId, name: file.name, bytes: file.bytes })
    const id = write({
      channel_id: channelId,
      content: typeof body['content'] === 'string' ? body['content'] : '',
      author: { id: ids.bot, username: 'flotilla', bot: true, discriminator: '0' },
      components: body['components'],
      nonce: body['nonce'],
    })
    const message = messages.find((one) => one.id === id)
    if (message) byNonce.set(nonce, message)
    return message
  }

  function edit(body: Record<string, unknown>, messageId: string): KeptMessage | undefined {
    const message = messages.find(({ id }) => id === messageId)
    if (message) Object.assign(message, { content: body['content'], components: body['components'] })
    return message
  }

  return {
    api: `http://127.0.0.1:${port}/api`,
    fetch: (url, init) => {
      const isMessage = /\/messages(?:\/\d+)?$/.test(new URL(url).pathname) && init?.method !== 'GET'
      if (!isMessage || failures[0] !== 'unreachable') return fetch(url, init)
      failures.shift()
      return fetch(`http://127.0.0.1:${dead}/`, init)
    },
    platform: {
      say: async ({ place, text, by, addressed, file }) => {
        const isMention = !place.isPrivate && addressed
        const fileId = newId()
        const path = `/attachments/${fileId}/${file?.name ?? ''}`
        if (file) attached.set(path, file.bytes)
        const attachment = {
          id: fileId,
          filename: file?.name,
          content_type: file?.mediaType,
          size: file?.bytes.length,
          url: `http://127.0.0.1:${port}${path}`,
        }
        return write({
          attachments: file ? [attachment] : [],
          channel_id: place.threadId ?? place.conversationId,
          content: isMention ? `<@${ids.bot}> ${text}` : text,
          mentions: isMention ? [{ id: ids.bot, username: 'flotilla' }] : [],
          ...(by === 'bot' ? { author: { id: ids.thread, username: 'beep', bot: true } } : {}),
        })
      },
      shown: () =>
        messages
          .filter(({ author }) => (author as { id: string }).id === ids.bot)
          .map(({ channel_id: conversationId, content }) => ({ conversationId, text: content })),
      shownFiles: () => shownFiles,
      failNext: (how) => void failures.push(how),
    },
    places: {
      alone: { conversationId: alone, threadId: null, isPrivate: true },
      group: { conversationId: group, threadId: null, isPrivate: false },
    },
    ids,
    calls,
    heard: received,
    write,
    dispatch,
    sendRaw: (packet) => {
      for (const line of lines.keys()) line.send(packet)
    },
    readyWith: (fields) => void (readyFields = fields),
    drop: () => {
      for (const line of lines.keys()) line.terminate()
    },
    ask: (op) => {
      for (const line of lines.keys()) line.send(JSON.stringify({ op }))
    },
    refuseWith: (code) => void (refusal = code),
    expireSession: () => {
      if (session) session.isExpired = true
    },
    forgetNonces: () => byNonce.clear(),
    closeWith: (code) => {
      for (const line of lines.keys()) line.close(code)
    },
    openConnections: () => sockets.clients.size,
    failRequests: (path, how) => void (failing = how === null ? null : { path, answer: how }),
    connections: () => connections,
    newId,
    close: async () => {
      for (const line of sockets.clients) line.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const opNames: Readonly<Record<number, string>> = { 1: 'heartbeat', 2: 'identify', 6: 'resume' }

export function sayDiscord(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
