import { jsonLimits } from '@flotilla/protocol/limits'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { gatewayLimits, readPacket } from './gateway-packet.ts'

const anything = z.unknown()
const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`

test('a packet is text of the expected form', () => {
  expect(readPacket('{"a":1}', z.object({ a: z.number() }))).toEqual({ packet: { a: 1 } })
})

test.each([
  ['not text', new Uint8Array([123, 125]), 'is not text'],
  ['nothing', undefined, 'is not text'],
  ['not JSON', '{"a":', 'is not JSON, or exceeds the limits'],
  ['nested above the limit', `${'['.repeat(200)}${']'.repeat(200)}`, 'is not JSON, or exceeds the limits'],
  [
    'larger than the limit',
    `[${'0,'.repeat(jsonLimits.gatewayPacket.nodesMax)}0]`,
    'is not JSON, or exceeds the limits',
  ],
  ['one byte too long', text(gatewayLimits.packetMaxBytes + 1), 'has more than 8388608 bytes'],
  [
    'too long in bytes because of wide characters',
    `"${'é'.repeat(gatewayLimits.packetMaxBytes / 2)}"`,
    'has more than 8388608 bytes',
  ],
])('%s is not a packet', (_what, data, fault) => {
  expect(readPacket(data, anything)).toMatchObject({ fault })
})

test('a packet of the maximum size is accepted', () => {
  expect(readPacket(text(gatewayLimits.packetMaxBytes), anything)).toHaveProperty('packet')
})

test('a packet of another form is rejected', () => {
  expect(readPacket('{"a":"1"}', z.object({ a: z.number() }))).toEqual({
    fault: 'has an unknown form',
  })
})
