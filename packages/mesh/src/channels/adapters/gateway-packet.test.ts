import { jsonLimits } from '@flotilla/protocol/limits'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { gatewayLimits, readPacket } from './gateway-packet.ts'

const anything = z.unknown()
const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`

test('a packet is text of the form that is wanted', () => {
  expect(readPacket('{"a":1}', z.object({ a: z.number() }))).toEqual({ packet: { a: 1 } })
})

test.each([
  ['no text', new Uint8Array([123, 125]), 'is not text'],
  ['nothing', undefined, 'is not text'],
  ['no JSON', '{"a":', 'is not JSON, or exceeds the limits'],
  ['deeper than is read', `${'['.repeat(200)}${']'.repeat(200)}`, 'is not JSON, or exceeds the limits'],
  [
    'more than is read',
    `[${'0,'.repeat(jsonLimits.gatewayPacket.nodesMax)}0]`,
    'is not JSON, or exceeds the limits',
  ],
  ['one byte too long', text(gatewayLimits.packetMaxBytes + 1), 'has more than 8388608 bytes'],
  [
    'too long by what its characters take',
    `"${'é'.repeat(gatewayLimits.packetMaxBytes / 2)}"`,
    'has more than 8388608 bytes',
  ],
])('%s is none', (_what, data, fault) => {
  expect(readPacket(data, anything)).toEqual({ fault })
})

test('the longest is one', () => {
  expect(readPacket(text(gatewayLimits.packetMaxBytes), anything)).toHaveProperty('packet')
})

test('one of another form is none', () => {
  expect(readPacket('{"a":"1"}', z.object({ a: z.number() }))).toEqual({
    fault: 'has an unknown form',
  })
})
