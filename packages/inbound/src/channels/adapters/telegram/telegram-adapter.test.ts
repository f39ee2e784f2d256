import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Clock } from '@flotilla/protocol/clock'
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { heedsLesson } from '../../../../../../tests/verifies.ts'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { silentLog, systemClock } from '../../../../../foundation/src/platform/index.ts'
import { fakeTelegramPlaces as places, startFakeTelegram } from '../../../../../testing/src/fake-telegram.ts'
import { channelAdapterConformance } from '../../adapter.conformance.ts'
import type {
  ChannelAdapter,
  ChannelState,
  MovedConversation,
  PassedOver,
  ReceivedMessage,
} from '../../adapter.ts'
import { channelLimits } from '../../channel-limits.ts'
import { createPatientReceive } from '../../intake/pass-over.ts'
import { createMemoryMarks } from '../channel-marks.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { createTelegramAdapter } from './index.ts'

const never = new AbortController().signal
const token = createSecret('telegram_bot_token', '777:secret-part')

const anAdapter = (apiRoot: string, marks: ChannelMarks = createMemoryMarks()) =>
  createTelegramAdapter({
    marks,
    proxies: noProxies,
    token,
    clock: systemClock,
    apiRoot,
    menu: [{ command: 'agents', description: 'who there is' }],
  })

const message = (text: string, more: object = {}) => ({
  place: places.alone,
  clientId: 'note_1-0',
  text,
  buttons: [],
  replyToId: null,
  ...more,
})

channelAdapterConformance(
  'telegram',
  async () => {
    const platform = await startFakeTelegram()
    return {
      adapter: anAdapter(platform.root),
      platform: { ...platform, say: async (said) => platform.say(said) },
      places,
      close: platform.close,
    }
  },
  { sendsAgain: true, failures: ['rate-limited', 'gone', 'refused', 'cut-after'] },
)

describe('the Telegram adapter', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function started(
    prepare: (platform: Awaited<ReturnType<typeof startFakeTelegram>>) => void = () => {},
  ) {
    const platform = await startFakeTelegram()
    closing.push(platform.close)
    prepare(platform)
    const adapter = anAdapter(platform.root)
    closing.push(adapter.close)
    const heard = await listen(adapter)
    return { platform, adapter, ...heard }
  }

  async function listen(adapter: ChannelAdapter) {
    const received: ReceivedMessage[] = []
    const states: ChannelState[] = []
    const passed: PassedOver[] = []
    const moved: MovedConversation[] = []
    await adapter.start({
      received: async (one) => void received.push(one),
      stateChanged: (state) => void states.push(state),
      passedOver: (what) => void passed.push(what),
      moved: (what) => void moved.push(what),
    })
    return { heard: received, states, passed, moved }
  }

  test.each([
    ['the group', { chat: { id: -2000, type: 'group' }, migrate_to_chat_id: -1002000 }],
    ['the supergroup', { chat: { id: -1002000, type: 'supergroup' }, migrate_from_chat_id: -2000 }],
  ])('Telegram: a group that becomes a supergroup is reported by a message in %s', async (_name, fields) => {
    const { platform, heard, moved } = await started()
    const from = { id: 1000, is_bot: false, first_name: 'Ann' }
    const mark = platform.push({ message: { message_id: 7, date: 0, from, ...fields } })
    await vi.waitFor(() => expect(platform.isTaken(mark)).toBe(true))
    expect(moved).toEqual([{ from: '-2000', to: '-1002000' }])
    expect(heard).toEqual([])
  })

  test('Telegram: messages, edits and files for a former group go to its supergroup at once', async () => {
    const { platform, adapter, moved } = await started()
    const place = places.group
    const before = await adapter.send(message('before', { place }), never)
    platform.migrate('-2000', -1002000)
    const replyToId = before.id
    const sent = await adapter.send(message('after', { place, replyToId }), never)
    expect(sent.id).toMatch(/^-1002000:/)
    expect(platform.calls.at(-1)?.body).not.toHaveProperty('reply_parameters')
    await adapter.upload?.(
      { ...message('', { place }), name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('x') },
      never,
    )
    expect(platform.shown().map(({ conversationId }) => conversationId)).toEqual(['-2000', '-1002000'])
    expect(platform.shownFiles()).toMatchObject([{ conversationId: '-1002000' }])
    const moves = [{ from: '-2000', to: '-1002000' }]
    expect(moved).toEqual([...moves, ...moves])
    // A message of the group does not exist in the supergroup, even under an equal number.
    const edited = { place, messageId: before.id, text: 'new', buttons: [] }
    await expect(adapter.edit?.(edited, never)).rejects.toMatchObject({ kind: 'gone' })
    const supergroup = { ...place, conversationId: '-1002000' }
    await expect(adapter.edit?.({ ...edited, place: supergroup }, never)).rejects.toMatchObject({
      kind: 'gone',
    })
    await adapter.edit?.({ ...edited, place: supergroup, messageId: sent.id }, never)
    expect(platform.shown().at(-1)?.text).toBe('new')
  })

  test('Telegram: the start deletes the webhook and writes the menu, and the first poll returns at once', async () => {
    heedsLesson(134)
    const { platform } = await started()
    await vi.waitFor(() => expect(platform.calls.some(({ method }) => method === 'getUpdates')).toBe(true))
    expect(platform.calls.slice(0, 4).map(({ method }) => method)).toEqual([
      'getMe',
      'deleteWebhook',
      'setMyCommands',
      'getUpdates',
    ])
    expect(platform.calls[2]?.body).toEqual({
      commands: [{ command: 'agents', description: 'who there is' }],
    })
    expect(platform.calls[3]?.body).toMatchObject({
      timeout: 0,
      allowed_updates: ['message', 'callback_query'],
    })
  })

  test('Telegram: a conflicting poll is reported and retried until only one is left', async () => {
    heedsLesson(134)
    const { platform, heard, states } = await started((platform) => platform.conflict(2))
    platform.say({ place: places.alone, text: 'after all', by: 'person', addressed: true })
    await vi.waitFor(() => expect(heard.map(({ text }) => text)).toEqual(['after all']), { timeout: 15_000 })
    expect(states.filter(({ detail }) => detail.includes('another program'))).toHaveLength(2)
    expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' })
  })

  test('Telegram: a rejected token is reported and never shown', async () => {
    const platform = await startFakeTelegram()
    closing.push(platform.close)
    platform.acceptToken(false)
    const adapter = anAdapter(platform.root)
    closing.push(adapter.close)
    const states: ChannelState[] = []
    const failure = await adapter
      .start({
        received: async () => {},
        stateChanged: (state) => void states.push(state),
        passedOver: () => {},
      })
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'refused' })
    expect(states.at(-1)).toMatchObject({ state: 'refused', repair: expect.stringContaining('@BotFather') })
    expect(JSON.stringify([failure, states, String(failure)])).not.toContain('secret-part')
  })

  test('Telegram: a token that is revoked during operation ends the polling', async () => {
    const { platform, states } = await started()
    platform.acceptToken(false)
    await vi.waitFor(() => expect(states.at(-1)?.state).toBe('refused'))
    const before = platform.calls.length
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(platform.calls.length).toBe(before)
  })

  test('Telegram: with an unreachable server nothing was sent, and no address is reported', async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => void closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const adapter = anAdapter(`http://127.0.0.1:${port}`)
    closing.push(adapter.close)
    const failure: unknown = await adapter.send(message('x'), never).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'unreachable' })
    expect(String(failure)).not.toContain('secret-part')
  })

  test("Telegram: data is sent to no other host than the owner's", async () => {
    const asked: string[] = []
    const elsewhere = createHttpServer((request, response) => {
      asked.push(request.url ?? '')
      response.end('{"ok":true,"result":{"message_id":1,"date":0,"chat":{"id":1000,"type":"private"}}}')
    })
    const leads = createHttpServer((_request, response) => {
      const { port } = elsewhere.address() as AddressInfo
      response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end()
    })
    for (const server of [elsewhere, leads]) {
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
      closing.push(() => new Promise<void>((resolve) => void server.close(() => resolve())))
    }
    const adapter = anAdapter(`http://127.0.0.1:${(leads.address() as AddressInfo).port}`)
    closing.push(adapter.close)
    await expect(adapter.send(message('for you alone'), never)).rejects.toMatchObject({
      name: 'ChannelFailure',
    })
    expect(asked).toEqual([])
  })

  test('Telegram: a pressed button arrives with its value and is acknowledged', async () => {
    const { platform, adapter, heard } = await started()
    const buttons = [{ label: 'Use coder', value: 'use:coder' }]
    const { id } = await adapter.send(message('Which one?', { buttons, replyToId: '1000:41' }), never)
    expect(platform.calls.find(({ method }) => method === 'sendMessage')?.body).toMatchObject({
      chat_id: '1000',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
      reply_parameters: { message_id: 41, allow_sending_without_reply: true },
      reply_markup: { inline_keyboard: [[{ text: 'Use coder', callback_data: 'use:coder' }]] },
    })
    platform.push({
      callback_query: {
        id: '55',
        from: { id: 1000, is_bot: false, first_name: 'Ann' },
        chat_instance: 'x',
        message: { message_id: Number(id.split(':')[1]), date: 0, chat: { id: 1000, type: 'private' } },
        data: 'use:coder',
      },
    })
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    expect(heard[0]).toMatchObject({
      id: 'callback:55',
      pressed: 'use:coder',
      senderId: '1000',
      place: places.alone,
    })
    await vi.waitFor(() =>
      expect(platform.calls.some(({ method }) => method === 'answerCallbackQuery')).toBe(true),
    )
  })

  test('Telegram: an edit without a change is ignored', async () => {
    const { adapter } = await started()
    const { id } = await adapter.send(message('same'), never)
    const edited = { place: places.alone, messageId: id, text: 'same', buttons: [] }
    await expect(adapter.edit?.(edited, never)).resolves.toBeUndefined()
  })

  test('Telegram: pictures and voice notes are named, and downloaded only up to the limit', async () => {
    const { platform, adapter, heard } = await started()
    const bytes = new Uint8Array(5000).fill(7)
    platform.file('files/v1', bytes)
    const from = { id: 1000, is_bot: false, first_name: 'Ann' }
    const chat = { id: 1000, type: 'private' }
    const photo = [
      { file_id: 'small', file_unique_id: 'a', width: 1, height: 1, file_size: 10 },
      { file_id: 'large', file_unique_id: 'b', width: 9, height: 9, file_size: 90_000 },
    ]
    platform.push({ message: { message_id: 8, date: 0, from, chat, photo, caption: 'look' } })
    platform.push({
      message: {
        message_id: 9,
        date: 0,
        from,
        chat,
        voice: { file_id: 'v1', file_unique_id: 'c', duration: 2 },
      },
    })
    await vi.waitFor(() => expect(heard).toHaveLength(2))
    const [picture, voice] = heard.map(({ attachments }) => attachments[0]!)
    expect(heard[0]?.text).toBe('look')
    expect(picture).toMatchObject({ kind: 'picture', sizeBytes: 90_000, reference: 'large' })
    expect(voice).toMatchObject({ kind: 'voice', sizeBytes: null })
    await expect(adapter.download?.(voice!.reference, 4999, never)).rejects.toMatchObject({
      kind: 'too-large',
    })
    expect(await adapter.download?.(voice!.reference, 5000, never)).toEqual(Buffer.from(bytes))
  })

  test('Telegram: an unreadable update is skipped and reported, and later ones arrive', async () => {
    const { platform, heard, passed } = await started()
    const from = { id: 1000, is_bot: false, first_name: 'Ann' }
    platform.push({ message: { message_id: 5, date: 0, from, text: 'without a chat' } })
    platform.say({ place: places.alone, text: 'behind it', by: 'person', addressed: true })
    await vi.waitFor(() => expect(heard.map(({ text }) => text)).toEqual(['behind it']))
    expect(passed).toEqual([{ id: 'update:1', detail: expect.stringContaining('form') }])
  })

  test('Telegram: the messages of a bot that replaces another are not taken for those of the other bot', async () => {
    const platform = await startFakeTelegram()
    closing.push(platform.close)
    const marks = createMemoryMarks()
    marks.write('telegram:account', '111')
    const adapter = anAdapter(platform.root, marks)
    closing.push(adapter.close)
    const { heard } = await listen(adapter)
    platform.say({ place: places.alone, text: 'hello', by: 'person', addressed: true })
    await vi.waitFor(() => expect(heard).toMatchObject([{ id: expect.stringMatching(/^1000:\d+@777$/) }]))
    const own = heard[0]?.id ?? ''
    await adapter.send(message('an answer', { replyToId: own }), never)
    await adapter.send(
      message('to a message of the other bot', { replyToId: own.replace('@777', '') }),
      never,
    )
    const sent = platform.calls.filter(({ method }) => method === 'sendMessage').map(({ body }) => body)
    expect(sent).toMatchObject([{ reply_parameters: expect.anything() }, {}])
    expect(sent[1]).not.toHaveProperty('reply_parameters')
    const edit = { place: places.alone, messageId: '1000:1', text: 'changed', buttons: [] }
    await expect(adapter.edit?.(edit, never)).rejects.toMatchObject({ kind: 'gone' })
  })

  test('Telegram: a message that always causes an internal error does not block later ones', async () => {
    const platform = await startFakeTelegram()
    closing.push(platform.close)
    const taken: string[] = []
    const tried: string[] = []
    const receive = createPatientReceive({
      receive: async (_channel, { text }) => {
        tried.push(text)
        if (text === 'poison') throw new TypeError('it fails')
        taken.push(text)
      },
      passOver: (_channel, { id }) => void taken.push(`passed over ${id}`),
      log: silentLog,
    })
    // The delays between the attempts are not tested here.
    const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal) }
    const adapter = createTelegramAdapter({
      token,
      clock,
      proxies: noProxies,
      apiRoot: platform.root,
      menu: [],
    })
    closing.push(adapter.close)
    await adapter.start({
      received: (one) => receive('telegram', one),
      stateChanged: () => {},
      passedOver: () => {},
    })
    for (const text of ['before', 'poison', 'behind']) {
      platform.say({ place: places.alone, text, by: 'person', addressed: true })
    }
    await vi.waitFor(
      () => expect(taken).toEqual(['before', expect.stringMatching(/^passed over/), 'behind']),
      {
        timeout: 15_000,
      },
    )
    expect(tried.filter((text) => text === 'poison')).toHaveLength(channelLimits.takeTriesMax)
  })

  test('Telegram: a file is sent in full under its name', async () => {
    const { platform, adapter } = await started()
    const bytes = Buffer.from('the whole answer')
    await adapter.upload?.(
      {
        place: places.alone,
        clientId: 'f',
        name: 'my "answer".md\r\nx-own: 1',
        mediaType: 'text/markdown',
        bytes,
      },
      never,
    )
    const sent = platform.calls.find(({ method }) => method === 'sendDocument')?.body['raw']
    expect(sent).toContain('filename=my__answer_.md__x-own__1\r\n')
    expect(sent).toContain('the whole answer')
  })

  test('Telegram: close ends all sockets', async () => {
    const { platform, adapter } = await started()
    await adapter.send(message('x'), never)
    await adapter.close()
    await vi.waitFor(async () => expect(await platform.openSockets()).toBe(0))
  })
})

describe('the Telegram adapter against telegram-test-api', () => {
  test('Telegram: a message is received, answered and edited', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => void free.listen(0, '127.0.0.1', resolve))
    const { port } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    const server = new TelegramServer({ port, host: '127.0.0.1' })
    await server.start()
    const adapter = anAdapter(server.config.apiURL)
    try {
      const heard: ReceivedMessage[] = []
      await adapter.start({
        received: async (one) => void heard.push(one),
        stateChanged: () => {},
        passedOver: () => {},
      })
      const client = server.getClient(token.reveal(), { userId: 1000, chatId: 1000, firstName: 'Ann' })
      await client.sendMessage(client.makeMessage('good morning'))
      await client.sendCommand(client.makeCommand('/agents'))
      await vi.waitFor(() => expect(heard.map(({ text }) => text)).toEqual(['good morning', '/agents']))
      expect(heard[0]).toMatchObject({ senderId: '1000', place: places.alone, addressed: true })
      await adapter.send(message('<b>hello</b>'), never)
      const { result } = await client.getUpdates()
      expect(result.map(({ message }) => message)).toMatchObject([
        { text: '<b>hello</b>', parse_mode: 'HTML' },
      ])
    } finally {
      await adapter.close()
      await server.stop()
    }
  })
})
