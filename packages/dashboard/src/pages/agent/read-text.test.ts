import { describe, expect, test } from 'vitest'
import { readText } from './read-text.ts'

describe('a file of an agent', () => {
  test('a file of an agent is shown as the text that it is, markup too', () => {
    const text = '<script>alert(1)</script> ä'
    expect(readText(new TextEncoder().encode(text))).toEqual({ kind: 'text', text, cut: false })
  })

  test.each([
    ['with a zero byte', new Uint8Array([104, 0, 105])],
    ['that is no UTF-8', new Uint8Array([0xff, 0xfe, 0x41])],
  ])('%s is no text', (_what, bytes) => {
    expect(readText(bytes)).toEqual({ kind: 'binary' })
  })

  test('a file of an agent that is long is cut, and says so', () => {
    const told = readText(new TextEncoder().encode('x'.repeat(300_000)))
    expect(told).toMatchObject({ kind: 'text', cut: true })
    expect(told.kind === 'text' && told.text.length).toBe(200_000)
  })
})
