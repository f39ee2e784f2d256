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
import { recordReceived } from '../../../../../testing/src/record-received.ts'
import { gatewayLimits } from '../gateway-packet.ts'
import { createDiscordAdapter } from './index.ts'

const packet = (op: number, rest: object = {}) => JSON.stringify({ op, ...rest })
const dispatched = (t: string, d: unknown) => packet(0, { s: 99, t, d })
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

/** Each of these packets ends the process or blocks the mesh if discord.js gets it, or is not a packet at all. */
const leftOut: Readonly<Record<string, string | Uint8Array>> = {
  'no JSON': 'hello',
  'half of it': '{"op":0,',
  'a number': '7',
  'a list': '[1,2]',
  'nothing to go by': '{}',
  'an operation of no known number': packet(3),
  'an operation that is a word': '{"op":"0"}',
  'a dispatch without a name': packet(0, { s: 1, d: {} }),
  'a dispatch whose number is a word': packet(0, { s: 'x', t: 'MESSAGE_CREATE', d: {} }),
  'a dispatch whose number is below zero': packet(0, { s: -1, t: 'MESSAGE_CREATE', d: {} }),
  'a name that is a book': dispatched('X'.repeat(gatewayLimits.nameMaxChars + 1), {}),
  'a session that is over, of nothing': packet(9),
  'a session that is over, of null': packet(9, { d: null }),
  'a hello of nothing': packet(10),
  'a hello whose beats never rest': packet(10, { d: { heartbeat_interval: 1 } }),
  'a hello whose beats never come': packet(10, { d: { heartbeat_interval: 2 ** 31 } }),
  'a second hello': packet(10, { d: { heartbeat_interval: 20_000 } }),
  'a READY of nothing': packet(0, { s: 2, t: 'READY' }),
  'a READY of null': dispatched('READY', null),
  'a READY that leads the token away': dispatched('READY', {
    session_id: 's',
    resume_gateway_url: 'wss://gateway.example.org',
    user: { id: '123456' },
    application: { id: '123456' },
  }),
  'a text that is nested without end': `{"op":0,"s":1,"t":"MESSAGE_CREATE","d":${deep}}`,
  'more values than the limit': `{"op":0,"s":1,"t":"MESSAGE_CREATE","d":[${'0,'.repeat(600_000)}0]}`,
  bytes: new Uint8Array([1, 2, 3]),
}

/** discord.js would read these by their names; the adapter needs none of them. */
const heardAsNothing: Readonly<Record<string, unknown>> = {
  MESSAGE_CREATE: null,
  GUILD_CREATE: { id: 'x', channels: 5, threads: { a: 1 }, members: 'y' },
  GUILD_DELETE: null,
  GUILD_MEMBER_ADD: { user: null },
  CHANNEL_UPDATE: 7,
  INTERACTION_CREATE: { type: 2, data: null },
  THREAD_MEMBERS_UPDATE: [],
  THREAD_CREATE: { type: 'x' },
  __proto__x: {},
  constructor: {},
}

/** Allows for a busy machine. */
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 10_000 })

describe('a hostile gateway', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function opened(prepare: (server: DiscordServer) => void = () => {}) {
    const server = await startDiscordServer()
    prepare(server)
    closing.push(server.close)
    const adapter = createDiscordAdapter({
      token: createSecret('discord_bot_token', discordToken),
      clock: systemClock,
      proxies: noProxies,
      commands: [],
      api: server.api,
      fetch: server.fetch,
    })
    closing.push(adapter.close)
    const say = (text: string) =>
      server.platform.say({ place: server.places.alone, text, by: 'person', addressed: true })
    return { server, ...recordReceived(adapter), say }
  }

  async function connected() {
    const open = await opened()
    await open.starting
    await until(() => expect(open.states.at(-1)?.state).toBe('connected'))
    return open
  }

  test('Discord: an invalid packet is dropped and reported, and the next one arrives over the same connection', async () => {
    const { server, heard, states, say } = await connected()
    for (const [name, hostile] of Object.entries(leftOut)) {
      states.length = 0
      server.sendRaw(hostile)
      await until(() => expect(states, name).toMatchObject([{ state: 'connected' }]))
      expect(states[0]?.detail, name).toMatch(/^a packet of Discord was dropped: it /)
      await say(name)
      await until(() => expect(heard.at(-1)?.text).toBe(name))
    }
    expect(server.connections()).toBe(1)
  })

  test('Discord: only the adapter sees the content of a packet', async () => {
    const { server, heard, states, say } = await connected()
    for (const [name, data] of Object.entries(heardAsNothing)) {
      server.dispatch(name, data)
      await say(name)
      await until(() => expect(heard.at(-1)?.text).toBe(name))
    }
    expect(heard).toHaveLength(Object.keys(heardAsNothing).length)
    expect(states.filter(({ detail }) => detail.includes('was dropped'))).toEqual([])
    expect(server.connections()).toBe(1)
  })

  test('Discord: an endless packet is cut off at the limit, and the next connection works', async () => {
    const { server, heard, states, say } = await connected()
    server.sendRaw(`"${'x'.repeat(gatewayLimits.packetMaxBytes + 1024)}"`)
    await until(() => expect(server.connections()).toBe(2))
    expect(
      states.some(({ detail }) => detail.includes(`more than ${gatewayLimits.packetMaxBytes} bytes`)),
    ).toBe(true)
    await until(() => expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' }))
    await say('there again')
    await until(() => expect(heard.at(-1)?.text).toBe('there again'))
  })

  test('Discord: a session with a foreign resume address is rejected', async () => {
    const { server, states } = await opened(({ readyWith }) =>
      readyWith({ resume_gateway_url: 'wss://discord.gg.example.org' }),
    )
    await until(() =>
      expect(states.at(-1)).toMatchObject({
        state: 'connecting',
        detail: expect.stringContaining('starts a session in an unknown'),
      }),
    )
    await until(() => expect(states.at(-1)?.state).toBe('failing'))
    // The adapter waits longer each time, because Discord limits identifications per day.
    expect(server.heard.filter((op) => op === 'identify').length).toBeLessThanOrEqual(2)
    server.readyWith({})
    await until(() => expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' }))
  })

  test.each([
    ['elsewhere', { url: 'wss://gateway.example.org' }],
    ['not an address', { url: 'gateway' }],
    ['an address with a user name', { url: 'ws://a:b@127.0.0.1:1' }],
    ['without shards', { url: 'ws://127.0.0.1:1', shards: 'x' }],
  ])('Discord: the token is never sent to a gateway that is %s', async (_name, answer) => {
    const limits = { total: 1, remaining: 1, reset_after: 0, max_concurrency: 1 }
    const { server, states } = await opened(({ failRequests }) =>
      failRequests(/^\/gateway\/bot$/, (response) =>
        sayDiscord(response, 200, { shards: 1, session_start_limit: limits, ...answer }),
      ),
    )
    await until(() =>
      expect(states.at(-1)).toMatchObject({
        state: 'failing',
        detail: 'Discord returned an invalid gateway address',
      }),
    )
    expect(server.connections()).toBe(0)
  })

  test('Discord: no session starts when the daily limit is used up', async () => {
    const limits = { total: 1000, remaining: 0, reset_after: 14_400_000, max_concurrency: 1 }
    const { server, states } = await opened(({ failRequests, api }) =>
      failRequests(/^\/gateway\/bot$/, (response) => {
        const url = `ws://${new URL(api).host}`
        sayDiscord(response, 200, { url, shards: 1, session_start_limit: limits })
      }),
    )
    const detail = 'Discord allows this bot no more sessions today'
    await until(() => expect(states.at(-1)).toMatchObject({ state: 'failing', detail }))
    expect(server.heard).toEqual([])
  })

  test.each([
    ['deep', deep],
    ['long', `"${'x'.repeat(17 * 1024 * 1024)}"`],
  ])('Discord: a response that is too %s is rejected', async (_name, answer) => {
    const { states } = await opened(({ failRequests }) =>
      failRequests(/^\/gateway\/bot$/, (response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      }),
    )
    await until(() => expect(states.at(-1)?.detail).toBe('Discord sent a response that is too large'))
  })
})
