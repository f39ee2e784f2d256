import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  discordToken,
  sayDiscord,
  startDiscordServer,
} from '../../../../../../tests/support/discord-server.ts'
import type { DiscordServer } from '../../../../../../tests/support/discord-server.ts'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../../foundation/src/platform/index.ts'
import { channelAdapterConformance } from '../../adapter.conformance.ts'
import type { ChannelState, ReceivedMessage } from '../../adapter.ts'
import { createMemoryMarks } from '../channel-marks.ts'
import { createDiscordAdapter } from './index.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { answerMaxMs } from './twin-watch.ts'

const never = new AbortController().signal
const us = (server: DiscordServer) => ({ id: server.ids.bot, username: 'flotilla', bot: true })
const soon = 10_000

function adapterOf(
  server: DiscordServer,
  { marks = createMemoryMarks(), token = discordToken, clock = systemClock } = {},
) {
  return createDiscordAdapter({
    token: createSecret('discord_bot_token', token),
    clock,
    proxies: noProxies,
    commands: [{ name: 'status', description: 'What the fleet does', argument: 'of whom' }],
    marks,
    api: server.api,
    fetch: server.fetch,
  })
}

/** True if the message is older than its channel's mark, so that it is not read again. */
function isBehind(marks: ChannelMarks, channelId: string, id: string): boolean {
  const mark = marks.read(`discord:${channelId}`)
  return mark !== null && BigInt(mark) >= BigInt(id)
}

/** A copy of the marks, as a second process reads them. */
function copyOf(marks: ChannelMarks, { places }: DiscordServer): ChannelMarks {
  const copy = createMemoryMarks()
  const channels = Object.values(places).map(({ conversationId }) => conversationId)
  for (const key of ['listened', 'private', ...channels].map((name) => `discord:${name}`)) {
    const value = marks.read(key)
    if (value !== null) copy.write(key, value)
  }
  return copy
}

channelAdapterConformance(
  'Discord',
  async () => {
    const server = await startDiscordServer()
    const marks = createMemoryMarks()
    const channels = Object.values(server.places).map(({ conversationId }) => conversationId)
    return {
      adapter: adapterOf(server, { marks }),
      platform: {
        ...server.platform,
        isTaken: (id) => channels.some((channelId) => isBehind(marks, channelId, id)),
      },
      places: server.places,
      close: server.close,
    }
  },
  { sendsAgain: true },
)

describe('Discord', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function opened({ heartbeatMs = 20_000, ...given }: Partial<Opened> & { heartbeatMs?: number } = {}) {
    const server = given.server ?? (await startDiscordServer({ heartbeatMs }))
    if (!given.server) closing.push(server.close)
    const marks = given.marks ?? createMemoryMarks()
    const { token = discordToken, clock = systemClock } = given
    const adapter = adapterOf(server, { marks, token, clock })
    closing.push(adapter.close)
    const received: ReceivedMessage[] = []
    const states: ChannelState[] = []
    const row = { isBroken: false }
    const starting = adapter.start({
      received: async (message) => {
        received.push(message)
        if (row.isBroken) throw new Error('the disk is full')
      },
      stateChanged: (state) => void states.push(state),
      passedOver: () => {},
    })
    return { server, marks, adapter, heard: received, states, row, starting }
  }

  interface Opened {
    readonly server: DiscordServer
    readonly marks: ChannelMarks
    readonly token: string
    readonly clock: typeof systemClock
  }

  async function started(given: Parameters<typeof opened>[0] = {}) {
    const open = await opened(given)
    await open.starting
    await vi.waitFor(() => expect(open.states.at(-1)?.state).toBe('connected'))
    return open
  }

  const texts = (heard: readonly ReceivedMessage[]) => heard.map(({ text }) => text)
  const say = (server: DiscordServer, text: string, place = server.places.alone) =>
    server.platform.say({ place, text, by: 'person', addressed: true })

  test('Discord: the adapter identifies, sends heartbeats and registers its commands', async () => {
    const { server } = await started({ heartbeatMs: 100 })
    await vi.waitFor(() => expect(server.heard.filter((op) => op === 'heartbeat').length).toBeGreaterThan(2))
    expect(server.heard[0]).toBe('identify')
    await vi.waitFor(() =>
      expect(server.calls.find(({ path }) => path.endsWith('/commands'))?.body).toMatchObject({
        list: [{ name: 'status', options: [{ name: 'text', required: false }] }],
      }),
    )
  })

  test('Discord: a message mentions no one, shows no previews, and its buttons keep their values', async () => {
    const { server, adapter, heard } = await started()
    const place = server.places.group
    const buttons = Array.from({ length: 6 }, (_one, index) => ({
      label: `b${index}`,
      value: `use:${index}`,
    }))
    await adapter.send({ place, clientId: 'n', text: '@everyone', buttons, replyToId: '12345' }, never)
    const body = server.calls.findLast(({ method }) => method === 'POST')?.body
    expect(body).toMatchObject({
      allowed_mentions: { parse: [] },
      flags: 4,
      enforce_nonce: true,
      message_reference: { message_id: '12345', fail_if_not_exists: false },
    })
    expect(String(body?.['nonce']).length).toBeLessThanOrEqual(25)
    const [row, second] = (body?.['components'] ?? []) as { components: { custom_id: string }[] }[]
    expect(row?.components).toHaveLength(5)
    server.dispatch('INTERACTION_CREATE', {
      id: server.newId(),
      application_id: server.ids.bot,
      token: 'interaction-token',
      type: 3,
      guild_id: server.ids.guild,
      channel_id: place.conversationId,
      member: { user: { id: server.ids.person, username: 'ann' } },
      data: { custom_id: second?.components[0]?.custom_id },
    })
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    expect(heard[0]).toMatchObject({ pressed: 'use:5', addressed: true, place })
  })

  const command = (server: DiscordServer) => ({
    id: server.newId(),
    application_id: server.ids.bot,
    token: 'interaction-token',
    type: 2,
    channel_id: server.places.alone.conversationId,
    user: { id: server.ids.person, username: 'ann' },
    data: { name: 'status', options: [{ name: 'text', type: 3, value: 'all' }] },
  })
  const lastAnswer = (server: DiscordServer) =>
    server.calls.find(({ path }) => path.endsWith('/messages/@original'))?.body['content']

  test('Discord: a menu command arrives as text and is answered when it is persisted', async () => {
    const { server, heard } = await started()
    server.dispatch('INTERACTION_CREATE', command(server))
    await vi.waitFor(() => expect(lastAnswer(server)).toBe('/status all'))
    expect(heard).toMatchObject([{ text: '/status all', place: { isPrivate: true }, senderName: 'ann' }])
  })

  test('Discord: the sender of a command that was not persisted gets an error, because Discord does not repeat it', async () => {
    const { server, row } = await started()
    row.isBroken = true
    server.dispatch('INTERACTION_CREATE', command(server))
    await vi.waitFor(() => expect(lastAnswer(server)).toContain('could not be stored'))
  })

  test('Discord: messages in a thread are for the bot once it has joined', async () => {
    const { server, adapter, heard } = await started()
    const place = {
      conversationId: server.places.group.conversationId,
      threadId: server.ids.thread,
      isPrivate: false,
    }
    server.write({ channel_id: server.ids.thread, content: 'not yet' })
    await vi.waitFor(() => expect(texts(heard)).toEqual(['not yet']))
    await adapter.send({ place, clientId: 'n', text: 'here', buttons: [], replyToId: null }, never)
    server.write({ channel_id: server.ids.thread, content: 'now' })
    await vi.waitFor(() => expect(texts(heard)).toEqual(['not yet', 'now']))
    expect(heard.map(({ addressed }) => addressed)).toEqual([false, true])
    expect(heard[1]?.place).toEqual(place)
  })

  test('Discord: a reply to a message of the bot is for the bot', async () => {
    const { server, heard } = await started()
    server.write({
      channel_id: server.places.group.conversationId,
      content: 'thanks',
      type: 19,
      referenced_message: { id: server.newId(), author: { id: server.ids.bot } },
    })
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    expect(heard[0]?.addressed).toBe(true)
  })

  test.each([
    ['a webhook', { webhook_id: '1' }],
    ['Discord itself', { type: 7 }],
    ['a message of another form', { author: 'nobody' }],
  ])('Discord: %s is ignored and blocks nothing', async (_name, fields) => {
    const { server, heard } = await started()
    const channelId = server.places.alone.conversationId
    server.write({ channel_id: channelId, content: 'x', ...fields })
    await say(server, 'after it')
    await vi.waitFor(() => expect(texts(heard)).toEqual(['after it']))
  })

  test('Discord: another program with the same token is reported, and own messages are not', async () => {
    const looks: (() => void)[] = []
    const clock: typeof systemClock = {
      ...systemClock,
      sleep: (ms, signal) =>
        ms === answerMaxMs ? new Promise((resolve) => looks.push(resolve)) : systemClock.sleep(ms, signal),
    }
    const { server, adapter, states, heard } = await started({ clock })
    const place = server.places.alone
    await adapter.send({ place, clientId: 'n', text: 'ours', buttons: [], replyToId: null }, never)
    server.write({
      channel_id: place.conversationId,
      content: 'of a hook',
      author: us(server),
      webhook_id: '1',
    })
    server.write({
      channel_id: place.conversationId,
      content: 'of another bot',
      author: { id: server.newId(), bot: true },
    })
    // Discord sends system messages under the bot's name when it is invited, creates a thread or pins a message.
    for (const type of [6, 7, 18, 21])
      server.write({ channel_id: server.places.group.conversationId, type, author: us(server) })
    await say(server, 'hi')
    await vi.waitFor(() => expect(texts(heard)).toEqual(['hi']))
    // So far, only the bot's own message needed a check.
    expect(looks).toHaveLength(1)
    looks.shift()?.()
    await setImmediate()
    expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' })
    server.write({ channel_id: place.conversationId, content: 'theirs', author: us(server), nonce: 'other' })
    await vi.waitFor(() => expect(looks).toHaveLength(1))
    looks.shift()?.()
    await vi.waitFor(() =>
      expect(states.at(-1)).toMatchObject({
        state: 'connected',
        detail: expect.stringMatching(/another program uses .*last seen at \d\d:\d\d UTC/),
        repair: expect.stringContaining('Stop the other program'),
      }),
    )
    expect(texts(heard)).toEqual(['hi'])
  })

  test('Discord: data is sent to no other host, wherever a call is redirected', async () => {
    const { server, adapter } = await started()
    server.failRequests(/^\/channels\/\d+\/messages$/, (response) => {
      response.writeHead(307, { location: `${server.api}/elsewhere` }).end()
    })
    const place = server.places.alone
    const message = { place, clientId: 'n', text: 'for you alone', buttons: [], replyToId: null }
    await expect(adapter.send(message, never)).rejects.toMatchObject({ kind: 'unreachable' })
    expect(server.calls.filter(({ path }) => path.includes('elsewhere'))).toEqual([])
  })

  test('Discord: a message whose delivery is unknown hides no other program, except for itself', async () => {
    const looks: (() => void)[] = []
    let now = systemClock.now()
    const clock: typeof systemClock = {
      ...systemClock,
      now: () => now,
      sleep: (ms, signal) =>
        ms === answerMaxMs ? new Promise((resolve) => looks.push(resolve)) : systemClock.sleep(ms, signal),
    }
    const { server, adapter, states } = await started({ clock })
    const place = server.places.alone
    const message = { place, clientId: 'n', text: 'ours', buttons: [], replyToId: null }
    for (const [how, kind] of [
      ['cut-after', 'unsure'],
      ['refused', 'refused'],
    ] as const) {
      server.platform.failNext(how)
      await expect(adapter.send(message, never)).rejects.toMatchObject({ kind })
    }
    await vi.waitFor(() => expect(looks).toHaveLength(1))
    const isNotified = async (fields: object) => {
      states.length = 0
      server.write({ channel_id: place.conversationId, content: 'x', author: us(server), ...fields })
      await vi.waitFor(() => expect(looks).toHaveLength(1))
      looks.shift()?.()
      await setImmediate()
      return states.some(({ detail }) => detail.includes('another program uses'))
    }
    looks.shift()?.()
    expect(await isNotified({})).toBe(false)
    expect(await isNotified({ nonce: 'other' })).toBe(true)
    now += 26 * 3_600_000
    expect(await isNotified({})).toBe(true)
  })

  test('Discord: files are received within limits and only from Discord, and are sent', async () => {
    const { server, adapter, heard } = await started()
    const file = { id: server.newId(), filename: 'a.png', content_type: 'image/png', size: 8 }
    server.write({
      channel_id: server.places.alone.conversationId,
      attachments: [
        { ...file, url: `${new URL(server.api).origin}/attachments/a.png` },
        { ...file, url: 'https://cdn.discordapp.com.example.org/a.png' },
      ],
    })
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    const [good, bad] = heard[0]?.attachments ?? []
    expect(good).toMatchObject({ kind: 'picture', name: 'a.png', sizeBytes: 8 })
    expect(Buffer.from((await adapter.download?.(good!.reference, 8, never)) ?? []).toString()).toBe(
      'attached',
    )
    await expect(adapter.download?.(good!.reference, 7, never)).rejects.toMatchObject({ kind: 'too-large' })
    await expect(adapter.download?.(bad!.reference, 8, never)).rejects.toMatchObject({ kind: 'refused' })
    await adapter.upload?.(
      {
        place: server.places.alone,
        clientId: 'f',
        name: 'out.txt',
        mediaType: 'text/plain',
        bytes: Buffer.from('out'),
      },
      never,
    )
    expect(server.calls.at(-1)?.body['file']).toMatchObject({ name: 'out.txt', text: 'out' })
  })

  test('Discord: after a dropped socket the session resumes, and no message is lost or repeated', async () => {
    const { server, heard, states } = await started()
    await say(server, 'before')
    server.drop()
    await say(server, 'meanwhile')
    await vi.waitFor(() => expect(texts(heard)).toEqual(['before', 'meanwhile']), soon)
    await vi.waitFor(() => expect(server.heard).toContain('resume'), soon)
    expect(states.map(({ state }) => state)).toContain('connecting')
    await vi.waitFor(() => expect(states.at(-1)?.state).toBe('connected'))
  })

  test('Discord: an invalid session is replaced, and missed messages are read from the history', async () => {
    const { server, heard } = await started()
    await say(server, 'before')
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    server.expireSession()
    server.drop()
    await say(server, 'meanwhile')
    await say(server, 'here too', server.places.group)
    await vi.waitFor(() => expect(heard).toHaveLength(3), 2 * soon)
    expect(texts(heard).toSorted()).toEqual(['before', 'here too', 'meanwhile'])
    expect(server.heard.filter((op) => op === 'identify')).toHaveLength(2)
  })

  test('Discord: messages that were sent while the mesh was down arrive after the start, direct and in guilds, and no others', async () => {
    const first = await started()
    const { server, marks } = first
    await say(server, 'before')
    await vi.waitFor(() => expect(first.heard).toHaveLength(1))
    await first.adapter.close()
    await say(server, 'one')
    await say(server, 'two')
    await say(server, 'in the guild', server.places.group)
    const second = await started({ server, marks })
    await vi.waitFor(() => expect(second.heard).toHaveLength(3))
    expect(texts(second.heard).filter((text) => text !== 'in the guild')).toEqual(['one', 'two'])
  })

  test('Discord: messages before the first connection arrive at once in guilds, and direct ones with the next message', async () => {
    const server = await startDiscordServer()
    closing.push(server.close)
    server.failRequests(/gateway/, (response) => sayDiscord(response, 503, {}))
    const { starting, states, heard } = await opened({ server })
    await vi.waitFor(() => expect(states.at(-1)?.state).toBe('failing'))
    expect(states[0]).toMatchObject({ state: 'connecting', repair: expect.stringContaining('connected') })
    await say(server, 'in the guild', server.places.group)
    await say(server, 'the code')
    server.failRequests(/gateway/, null)
    await starting
    await vi.waitFor(() => expect(texts(heard)).toEqual(['in the guild']))
    await say(server, 'hello?')
    await vi.waitFor(() => expect(texts(heard)).toEqual(['in the guild', 'the code', 'hello?']))
  })

  test('Discord: messages before the bot was invited are ignored', async () => {
    const server = await startDiscordServer()
    closing.push(server.close)
    await say(server, 'old', server.places.group)
    // Timestamps are whole milliseconds.
    const { heard } = await started({ server, clock: { ...systemClock, now: () => systemClock.now() + 2 } })
    await say(server, 'new', server.places.group)
    await vi.waitFor(() => expect(texts(heard)).toEqual(['new']))
  })

  test('Discord: messages that were not persisted are read again in order, with those after them', async () => {
    const { server, heard, row, marks } = await started()
    row.isBroken = true
    await say(server, 'one')
    await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0))
    await say(server, 'two')
    row.isBroken = false
    heard.length = 0
    const last = await say(server, 'three')
    await vi.waitFor(() => expect(isBehind(marks, server.places.alone.conversationId, last)).toBe(true))
    expect(texts(heard)).toEqual(['one', 'two', 'three'])
  })

  test('Discord: messages that were not persisted before a crash arrive after the start', async () => {
    const first = await started()
    first.row.isBroken = true
    await say(first.server, 'keep this')
    await vi.waitFor(() => expect(first.heard.length).toBeGreaterThan(0))
    // Only the marks survive the process.
    const second = await started({ server: first.server, marks: copyOf(first.marks, first.server) })
    await vi.waitFor(() => expect(texts(second.heard)).toEqual(['keep this']))
  })

  test('Discord: a message whose delivery is unknown is shown once, even after Discord forgot its nonce', async () => {
    const time = { shiftMs: 0 }
    const server = await startDiscordServer()
    closing.push(server.close)
    const marks = createMemoryMarks()
    const clock = { ...systemClock, now: () => systemClock.now() + time.shiftMs }
    const again = async () => {
      const adapter = adapterOf(server, { marks, clock })
      closing.push(adapter.close)
      await adapter.start({ received: async () => {}, stateChanged: () => {}, passedOver: () => {} })
      return adapter
    }
    const adapter = await again()
    const message = {
      place: server.places.alone,
      clientId: 'note_1-0',
      text: 'once',
      buttons: [],
      replyToId: null,
    }
    server.platform.failNext('cut-after')
    await expect(adapter.send(message, never)).rejects.toMatchObject({ kind: 'unsure' })
    server.forgetNonces()
    time.shiftMs = 600_000
    // The mesh has restarted in between.
    const { id } = await (await again()).send(message, never)
    expect(id).toMatch(/^\d+$/)
    expect(server.platform.shown()).toHaveLength(1)
    await adapter.send({ ...message, clientId: 'note_2-0' }, never)
    expect(server.platform.shown()).toHaveLength(2)
  })

  test('Discord: a file that is repeated after Discord forgot its nonce carries the repeat mark', async () => {
    const time = { shiftMs: 0 }
    const { server, adapter } = await started({
      clock: { ...systemClock, now: () => systemClock.now() + time.shiftMs },
    })
    const file = {
      place: server.places.alone,
      name: 'a.txt',
      mediaType: 'text/plain',
      bytes: Buffer.from('x'),
    }
    server.platform.failNext('cut-after')
    await expect(adapter.upload?.({ ...file, clientId: 'file_1-0' }, never)).rejects.toMatchObject({
      kind: 'unsure',
    })
    server.forgetNonces()
    time.shiftMs = 600_000
    await adapter.upload?.({ ...file, clientId: 'file_1-0' }, never)
    await adapter.upload?.({ ...file, clientId: 'file_2-0' }, never)
    expect(server.platform.shownFiles()).toHaveLength(3)
    expect(server.platform.shown().map(({ text }) => text)).toEqual(['', '(may be a repeat)', ''])
  })

  test('Discord: messages above the limit of parallel work are read from the history', async () => {
    const { server, heard } = await started()
    const count = 700
    for (let index = 0; index < count; index++) await say(server, `m${index}`)
    await vi.waitFor(() => expect(new Set(heard.map(({ id }) => id)).size).toBe(count), soon)
  })

  test.each([
    [4004, 'token'],
    [4014, 'Message Content Intent'],
  ])('Discord: the close code %i is reported as refused, with a repair', async (code, word) => {
    const server = await startDiscordServer()
    closing.push(server.close)
    server.refuseWith(code)
    const { starting, states } = await opened({ server })
    await expect(starting).rejects.toMatchObject({ kind: 'refused' })
    expect(states.at(-1)).toMatchObject({ state: 'refused', repair: expect.stringContaining(word) })
    expect(server.connections()).toBe(1)
  })

  test('Discord: an unknown token is refused and never shown', async () => {
    const { starting, states } = await opened({ token: 'a.wrong.token' })
    await expect(starting).rejects.toMatchObject({ kind: 'refused' })
    expect(states.at(-1)?.state).toBe('refused')
    expect(JSON.stringify(states)).not.toContain('wrong')
  })

  test('Discord: a token that is reset during operation is refused and not retried', async () => {
    const { server, states } = await started()
    server.closeWith(4004)
    await vi.waitFor(() => expect(states.at(-1)?.state).toBe('refused'))
    await vi.waitFor(() => expect(server.openConnections()).toBe(0))
    expect(server.connections()).toBe(1)
  })

  test('Discord: an unreachable Discord is retried', async () => {
    const server = await startDiscordServer()
    closing.push(server.close)
    server.failRequests(/gateway/, (response) => sayDiscord(response, 503, {}))
    const { starting, states } = await opened({ server })
    await vi.waitFor(() => expect(states.at(-1)?.state).toBe('failing'))
    server.failRequests(/gateway/, null)
    await starting
    expect(states.at(-1)?.state).toBe('connected')
  })

  test('Discord: the adapter closes while it reconnects', async () => {
    const { server, adapter } = await started()
    server.drop()
    await new Promise((resolve) => setTimeout(resolve, 50))
    const before = server.connections()
    await adapter.close()
    await new Promise((resolve) => setTimeout(resolve, 800))
    expect(server.connections()).toBe(before)
  })
})
