import { describe, expect, test } from 'vitest'
import { gatewayLimits } from '../gateway-packet.ts'
import { packetForClient, readSocketPacket } from './socket-packet.ts'

const read = (packet: unknown) => readSocketPacket(JSON.stringify(packet))
const longest = 'x'.repeat(gatewayLimits.nameMaxChars)

describe('a packet of Socket Mode', () => {
  test.each([
    [
      { type: 'hello', num_connections: 2 },
      { kind: 'hello', connections: 2 },
    ],
    [{ type: 'hello' }, { kind: 'hello', connections: 1 }],
    [
      { type: 'hello', num_connections: 0 },
      { kind: 'hello', connections: 1 },
    ],
    [
      { type: 'hello', num_connections: 1.5 },
      { kind: 'hello', connections: 1 },
    ],
    [
      { type: 'hello', num_connections: 'many' },
      { kind: 'hello', connections: 1 },
    ],
    [
      { type: 'hello', envelope_id: 'e' },
      { kind: 'hello', connections: 1 },
    ],
    [{ type: 'disconnect', reason: 'warning' }, { kind: 'goodbye' }],
    [
      { type: 'events_api', envelope_id: 'e', payload: { a: 1 } },
      { kind: 'envelope', type: 'events_api', id: 'e', payload: { a: 1 } },
    ],
    [
      { type: longest, envelope_id: longest },
      { kind: 'envelope', type: longest, id: longest, payload: undefined },
    ],
  ])('Slack: the packet %j is read', (packet, known) => {
    expect(read(packet)).toEqual({ packet: known })
  })

  test.each([
    { type: 'events_api', payload: {} },
    { type: 'events_api', envelope_id: '', payload: {} },
    { type: 'events_api', envelope_id: `${longest}x`, payload: {} },
    { type: '', envelope_id: 'e' },
    { type: `${longest}x`, envelope_id: 'e' },
    { envelope_id: 'e' },
    {},
    null,
  ])('Slack: %j is not a packet', (packet) => {
    expect(read(packet)).toEqual({ fault: 'has an unknown form' })
  })
})

describe("the packet for Slack's client", () => {
  test.each([
    [{ type: 'hello', num_connections: 9, x: 1 }, { type: 'hello' }],
    [{ type: 'disconnect', reason: 'x' }, { type: 'disconnect' }],
    [
      { type: 'disconnected', envelope_id: 'e', payload: { a: 1 } },
      { type: 'relayed', envelope_id: 'e', payload: {} },
    ],
  ])("Slack's client gets only the connection fields of %j", (packet, given) => {
    const known = read(packet)
    expect('packet' in known && JSON.parse(packetForClient(known.packet))).toEqual(given)
  })
})
