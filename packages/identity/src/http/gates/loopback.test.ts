import { describe, expect, test } from 'vitest'
import { isForwarded, isLoopbackAddress, isOwnHost } from './loopback.ts'

describe('who counts as this machine', () => {
  test.each([
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.0.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['128.0.0.1', false],
    ['1270.0.0.1', false],
    ['', false],
    [undefined, false],
  ])('the source %s: %s', (address, expected) => {
    expect(isLoopbackAddress(address)).toBe(expected)
  })

  test('a forwarded request is never direct', () => {
    expect(isForwarded({ 'x-forwarded-for': '1.2.3.4' })).toBe(true)
    expect(isForwarded({ forwarded: 'for=1.2.3.4' })).toBe(true)
    expect(isForwarded({ host: 'localhost' })).toBe(false)
  })

  test('a foreign host name on the right port is refused', () => {
    expect(isOwnHost('localhost:8420', 8420)).toBe(true)
    expect(isOwnHost('evil.example:8420', 8420)).toBe(false)
    expect(isOwnHost('localhost:9999', 8420)).toBe(false)
    expect(isOwnHost(undefined, 8420)).toBe(false)
  })
})
