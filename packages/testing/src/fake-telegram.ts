import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonLimits } from '@flotilla/protocol/limits'
import { fakeRetryAfterMs } from '../../inbound/src/channels/adapter.conformance.ts'
import type {
  FakeFailure,
  SaidOnPlatform,
  ShownFileOnPlatform,
  ShownOnPlatform,
} from '../../inbound/src/channels/adapter.conformance.ts'
import { readJson } from '../../foundation/src/intake/index.ts'
import { listenAsPlatform } from './listen-as-platform.ts'

/** Telegram's side of a bot, as the page of the Bot API describes it: the part that `telegram-test-api` lacks. */
export interface FakeTelegram {
  readonly root: string
  readonly calls: readonly TelegramCall[]
  readonly say: (said: SaidOnPlatform) => string
  /** Queues any update for the next poll. */
  readonly push: (update: Record<string, unknown>) => string
  readonly isTaken: (mark: string) => boolean
  readonly shown: () => readonly ShownOnPlatform[]
  readonly shownFiles: () => readonly ShownFileOnPlatform[]
  readonly failNext: (how: FakeFailure) => void
  /** The next `polls` polls conflict with another client. */
  readonly conflict: (polls: number) => void
  /**
   * The group becomes a supergroup: calls with its old id are refused with the new one, without any other
   * notification.
   */
  readonly migrate: (from: string, to: number) => void
  readonly acceptToken: (isAccepted: boolean) => void
  /** Sets the bytes of a file's path. */
  readonly file: (path: string, bytes: Uint8Array) => void
  readonly openSockets: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface TelegramCall {
  readonly method: string
  readonly body: TelegramBody
}

/** The fields of bot requests that tests read. */
export interface TelegramBody {
  readonly [field: string]: unknown
  readonly chat_id?: string
  readonly message_id?: number
  readonly text?: string
  readonly offset?: number
  readonly limit?: number
  readonly timeout?: number
  readonly file_id?: string
  /** The raw body of a form with a file. */
  readonly raw?: string
}

export const fakeTelegramPlaces = {
  alone: { conversationId: '1000', threadId: null, isPrivate: true },
  group: { conversationId: '-2000', threadId: null, isPrivate: false },
} as const

const ann = { id: 1000, is_bot: false, first_name: 'Ann', last_name: 'Lee' }
const robot = { id: 999, is_bot: true, first_name: 'Robot' }
/** How long a poll is held open, milliseconds: shorter than Telegram's, so that tests need not wait. */
const pollMs = 100

export async function startFakeTelegram(): Promise<FakeTelegram> {
  const calls: TelegramCall[] = []
  const files = new Map<string, Uint8Array>()
  const failures: Exclude<FakeFailure, 'unreachable'>[] = []
  const messages: { chat: string; id: number; text: string }[] = []
  const shownFiles: ShownFileOnPlatform[] = []
  const polls = new Set<() => void>()
  const migrated = new Map<string, number>()
  let updates: Record<string, unknown>[] = []
  let [count, taken, conflicts, isAccepted] = [0, 0, 0, true]

  function push(update: Record<string, unknown>): string {
    count += 1
    updates.push({ update_id: count, ...update })
    for (const wake of polls) wake()
    return String(count)
  }

  async function poll(body: TelegramBody): Promise<Record<string, unknown>[]> {
    const offset = body.offset ?? 0
    taken = Math.max(taken, offset - 1)
    updates = updates.filter(({ update_id: id }) => Number(id) >= offset)
    if (updates.length === 0 && (body.timeout ?? 0) > 0) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          polls.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, pollMs)
        polls.add(wake)
      })
    }
    return updates.slice(0, body.limit ?? 100)
  }

  function show(method: string, body: TelegramBody): unknown {
    const chat = body.chat_id ?? ''
    if (method === 'editMessageText') {
      const message = messages.find(({ id }) => id === body.message_id)
      if (!message) return refusal(400, 'Bad Request: message to edit not found')
      if (message.text === body.text) return refusal(400, 'Bad Request: message is not modified')
      message.text = body.text ?? ''
      return true
    }
    const document = method === 'sendDocument' ? documentOf(body.raw ?? '') : null
    if (document) {
      count += 1
      shownFiles.push(document)
      return { message_id: count, date: 0, chat: { id: Number(document.conversationId), type: 'private' } }
    }
    count += 1
    messages.push({ chat, id: count, text: body.text ?? '' })
    return { message_id: count, date: 0, chat: { id: Number(chat), type: 'private' }, text: body.text }
  }

  function refusalOfMoved(method: string, body: TelegramBody): Refusal | true | null {
    const chat = body.chat_id ?? /name="chat_id"\r\n\r\n([^\r\n]+)\r\n/.exec(body.raw ?? '')?.[1] ?? ''
    const to = migrated.get(chat)
    if (to === undefined) return method === 'sendChatAction' ? true : null
    const told = refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat')
    return { ...told, parameters: { migrate_to_chat_id: to } }
  }

  async function answer(method: string, body: TelegramBody): Promise<unknown> {
    if (!isAccepted) return refusal(401, 'Unauthorized')
    switch (method) {
      case 'getMe':
        return { id: 777, is_bot: true, first_name: 'Fleet', username: 'fleet_bot' }
      case 'getUpdates':
        if (conflicts > 0) {
          conflicts -= 1
          return refusal(409, 'Conflict: terminated by other getUpdates request')
        }
        return await poll(body)
      case 'getFile':
        return {
          file_id: body.file_id,
          file_unique_id: 'x',
          file_path: `files/${body.file_id ?? ''}`,
        }
      case 'sendChatAction':
      case 'sendMessage':
      case 'editMessageText':
      case 'sendDocument':
        return refusalOfMoved(method, body) ?? show(method, body)
      default:
        return true
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, first, second, ...rest] = (request.url ?? '').split('/')
    if (first === 'file') {
      const bytes = files.get(rest.join('/'))
      response.writeHead(bytes ? 200 : 404).end(bytes)
      return
    }
    const chunks: Uint8Array[] = []
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const isJson = request.headers['content-type']?.startsWith('application/json') === true
    const body = (isJson ? readJson(raw, jsonLimits.body) : { raw: raw.toString('latin1') }) as Record<
      string,
      unknown
    >
    const method = second ?? ''
    calls.push({ method, body })
    const failure = /^(?:send(?:Message|Document)|edit)/.test(method) ? failures.shift() : undefined
    const result =
      failure === undefined || failure === 'cut-after' ? await answer(method, body) : refusals[failure]
    if (failure === 'cut-after') return void response.destroy()
    const reply = isRefusal(result) ? result : { ok: true, result }
    response.writeHead(isRefusal(result) ? result.error_code : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply))
  }

  const { origin, openSockets, close } = await listenAsPlatform(serve)
  return {
    root: origin,
    calls,
    push,
    say: ({ place, text, by, addressed, file }) => {
      const id = count + 1
      const { text: words, ...message } = aTelegramMessage({
        text,
        isAlone: place.isPrivate,
        by,
        addressed,
        id,
      })
      if (!file) return push({ message: { ...message, text: words } })
      const { name, mediaType, bytes } = file
      files.set(`files/sent-${id}`, bytes)
      const document = {
        file_id: `sent-${id}`,
        file_unique_id: `u${id}`,
        file_name: name,
        mime_type: mediaType,
        file_size: bytes.length,
      }
      return push({ message: { ...message, caption: words, document } })
    },
    isTaken: (mark) => taken >= Number(mark),
    shown: () => messages.map(({ chat, text }) => ({ conversationId: chat, text })),
    shownFiles: () => shownFiles,
    failNext: (how) => {
      if (how === 'unreachable') throw new Error('a server that runs can be reached')
      failures.push(how)
    },
    migrate: (from, to) => void migrated.set(from, to),
    conflict: (polls) => void (conflicts = polls),
    acceptToken: (accepted) => void (isAccepted = accepted),
    file: (path, bytes) => void files.set(path, bytes),
    openSockets,
    close,
  }
}

/** The file of a form, as grammY writes it. */
function documentOf(raw: string): ShownFileOnPlatform | null {
  const name = /filename="?([^"\r\n]+)"?\r\n/.exec(raw)
  const chat = /name="chat_id"\r\n\r\n([^\r\n]+)\r\n/.exec(raw)
  if (!name || !chat) return null
  const from = raw.indexOf('\r\n\r\n', name.index) + 4
  const bytes = Buffer.from(raw.slice(from, raw.indexOf('\r\n--', from)), 'latin1')
  return { conversationId: chat[1] ?? '', name: name[1] ?? '', bytes }
}

interface Said {
  readonly text: string
  readonly isAlone: boolean
  readonly by: 'person' | 'bot'
  readonly addressed: boolean
  readonly id: number
}

function aTelegramMessage({ text, isAlone, by, addressed, id }: Said): Record<string, unknown> {
  const isMention = !isAlone && addressed
  return {
    message_id: id,
    date: 0,
    from: by === 'bot' ? robot : ann,
    chat: isAlone ? { id: 1000, type: 'private' } : { id: -2000, type: 'supergroup', title: 'Team' },
    text: isMention ? `@fleet_bot ${text}` : text,
    ...(isMention ? { entities: [{ type: 'mention', offset: 0, length: 10 }] } : {}),
  }
}

interface Refusal {
  readonly ok: false
  readonly error_code: number
  readonly description: string
  readonly parameters?: { readonly retry_after: number } | { readonly migrate_to_chat_id: number }
}

function refusal(code: number, description: string): Refusal {
  return { ok: false, error_code: code, description }
}

function isRefusal(result: unknown): result is Refusal {
  return typeof result === 'object' && result !== null && 'error_code' in result
}

const refusals: Readonly<Record<Exclude<FakeFailure, 'cut-after' | 'unreachable'>, Refusal>> = {
  'rate-limited': {
    ...refusal(429, 'Too Many Requests'),
    parameters: { retry_after: fakeRetryAfterMs / 1000 },
  },
  gone: refusal(403, 'Forbidden: bot was blocked by the user'),
  refused: refusal(400, "Bad Request: can't parse entities"),
}
