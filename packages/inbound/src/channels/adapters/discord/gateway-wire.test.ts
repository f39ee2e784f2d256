import { describe, expect, test } from 'vitest'
import { gatewayLimits, readPacket } from '../gateway-packet.ts'
import { gatewayAddressSchema, gatewayPacketSchema, isGateway, packetForLibrary } from './gateway-wire.ts'

const api = 'https://discord.com/api'
const ready = {
  session_id: 's1',
  resume_gateway_url: 'wss://gateway-us-east1-b.discord.gg',
  user: { id: '80351110224678912', username: 'hostile', avatar: { a: 1 } },
  application: { id: '80351110224678913', flags: 7 },
  guilds: [{ id: '1', channels: 5 }],
}

/** The packet for discord.js, or the reason why it is dropped. */
function passed(packet: unknown): unknown {
  const read = readPacket(JSON.stringify(packet), gatewayPacketSchema)
  return 'fault' in read ? read.fault : packetForLibrary(read.packet, api)
}
const unknownForm = 'has an unknown form'

describe('the packet for discord.js', () => {
  test.each([
    ['a heartbeat request', { op: 1, d: 5, x: 1 }, { op: 1 }],
    ['a reconnect request', { op: 7, d: null }, { op: 7 }],
    ['an acknowledgement', { op: 11 }, { op: 11 }],
    ['an ended session', { op: 9, d: false, x: 1 }, { op: 9, d: false }],
    ['a resumable session', { op: 9, d: true }, { op: 9, d: true }],
    [
      'the heartbeat interval',
      { op: 10, d: { heartbeat_interval: 41_250, x: 1 } },
      { op: 10, d: { heartbeat_interval: 41_250 } },
    ],
    [
      'the longest heartbeat interval',
      { op: 10, d: { heartbeat_interval: 600_000 } },
      { op: 10, d: { heartbeat_interval: 600_000 } },
    ],
    [
      'the shortest heartbeat interval',
      { op: 10, d: { heartbeat_interval: 100 } },
      { op: 10, d: { heartbeat_interval: 100 } },
    ],
    ['a resumed session', { op: 0, t: 'RESUMED', s: 7, d: { x: 1 } }, { op: 0, t: 'RESUMED', s: 7, d: {} }],
    [
      'only the sequence number of other dispatches',
      { op: 0, t: 'MESSAGE_CREATE', s: 0, d: { content: 'x' } },
      { op: 0, t: 'OTHER', s: 0, d: {} },
    ],
    [
      'the sequence number of a dispatch without data',
      { op: 0, t: 'X', s: 9 },
      { op: 0, t: 'OTHER', s: 9, d: {} },
    ],
  ])('%s', (_what, packet, given) => {
    expect(passed(packet)).toEqual(given)
  })

  test('discord.js gets only the fields of a new session that maintain it', () => {
    expect(passed({ op: 0, t: 'READY', s: 1, d: ready })).toEqual({
      op: 0,
      t: 'READY',
      s: 1,
      d: {
        v: 10,
        user: { id: '80351110224678912', username: '', discriminator: '0', bot: true },
        guilds: [],
        session_id: 's1',
        resume_gateway_url: 'wss://gateway-us-east1-b.discord.gg',
        application: { id: '80351110224678913' },
      },
    })
  })

  test.each([
    ['no data', undefined],
    ['no session', { ...ready, session_id: '' }],
    ['an overlong session id', { ...ready, session_id: 'x'.repeat(gatewayLimits.nameMaxChars + 1) }],
    ['a foreign address', { ...ready, resume_gateway_url: 'wss://example.org' }],
    [
      'an overlong address',
      { ...ready, resume_gateway_url: `wss://discord.gg/${'x'.repeat(gatewayLimits.urlMaxChars)}` },
    ],
    ['nobody', { ...ready, user: null }],
    ['a user without an id', { ...ready, user: { id: 'x' } }],
    ['no application', { ...ready, application: {} }],
  ])('discord.js gets nothing of a new session with %s', (_what, d) => {
    expect(passed({ op: 0, t: 'READY', s: 1, d })).toBeNull()
  })

  test.each([
    { op: 2 },
    { op: '0', t: 'X', s: 1 },
    { op: 0, s: 1 },
    { op: 0, t: '', s: 1 },
    { op: 0, t: 'x'.repeat(gatewayLimits.nameMaxChars + 1), s: 1 },
    { op: 0, t: 'X', s: -1 },
    { op: 0, t: 'X', s: 1.5 },
    { op: 0, t: 'X', s: null },
    { op: 9 },
    { op: 9, d: 1 },
    { op: 10 },
    { op: 10, d: { heartbeat_interval: 99 } },
    { op: 10, d: { heartbeat_interval: 600_001 } },
    { op: 10, d: { heartbeat_interval: 1000.5 } },
    null,
    7,
    [],
  ])('discord.js gets nothing of %j', (packet) => {
    expect(passed(packet)).toBe(unknownForm)
  })
})

test.each([
  ['wss://gateway.discord.gg', true],
  ['wss://discord.gg', true],
  ['wss://gateway-us-east1-b.discord.gg/', true],
  ['ws://gateway.discord.gg', false],
  ['wss://discord.gg.example.org', false],
  ['wss://evildiscord.gg', false],
  ['wss://discordxgg', false],
  ['https://gateway.discord.gg', false],
  ['https://proxy.example.org', false],
  ['wss://proxy.example.org:9', true],
  ['ws://proxy.example.org', false],
  ['http://proxy.example.org', false],
  ['wss://other.example.org', false],
  ['wss://user@gateway.discord.gg', false],
  ['wss://:word@gateway.discord.gg', false],
  ['not an address', false],
])("%s is an address of Discord or of the owner's proxy: %s", (address, isIt) => {
  expect(isGateway(address, 'https://proxy.example.org/api')).toBe(isIt)
})

test('a proxy that the owner configured without TLS is used without TLS', () => {
  expect(isGateway('ws://127.0.0.1:9', 'http://127.0.0.1:8/api')).toBe(true)
  expect(isGateway('wss://127.0.0.1:9', 'http://127.0.0.1:8/api')).toBe(true)
  expect(isGateway('ws://gateway.discord.gg', 'http://127.0.0.1:8/api')).toBe(false)
  expect(isGateway('http://127.0.0.1:9', 'http://127.0.0.1:8/api')).toBe(false)
})

const limits = { total: 1, remaining: 0, reset_after: 0, max_concurrency: 1 }
const told = { url: 'wss://gateway.discord.gg', shards: 1, session_start_limit: limits }
test.each([
  [told, true],
  [{ ...told, url: 'x'.repeat(gatewayLimits.urlMaxChars) }, true],
  [{ ...told, url: 'x'.repeat(gatewayLimits.urlMaxChars + 1) }, false],
  [{ ...told, url: null }, false],
  [{ ...told, shards: 0 }, false],
  [{ ...told, shards: 1.5 }, false],
  [{ ...told, session_start_limit: null }, false],
  [{ ...told, session_start_limit: { ...limits, total: 'x' } }, false],
  [{ ...told, session_start_limit: { ...limits, remaining: 'x' } }, false],
  [{ ...told, session_start_limit: { ...limits, reset_after: 'x' } }, false],
  [{ ...told, session_start_limit: { ...limits, max_concurrency: 0 } }, false],
  [{ ...told, session_start_limit: { ...limits, max_concurrency: 0.5 } }, false],
])('%j is recognized as a gateway address: %s', (answer, isOne) => {
  expect(gatewayAddressSchema.safeParse(answer).success).toBe(isOne)
})
