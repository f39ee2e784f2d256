import { describe, expect, test } from 'vitest'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from './sanitize-for-prompt.ts'

describe('sanitizeForPrompt', () => {
  test.each([
    ['zero width space', 'a\u200Bb', 'ab'],
    ['bidirectional override', 'a\u202Eb', 'ab'],
    ['tag characters outside a flag', `a\u{E0068}\u{E0069}b`, 'ab'],
    ['soft hyphen', 'a\u00ADb', 'ab'],
    ['byte order mark', '\uFEFFa', 'a'],
    ['hangul filler', 'a\u3164b', 'ab'],
    ['escape sequence', 'a\u001B[31mb', 'a[31mb'],
    ['variation selector supplement', `a\u{E0101}b`, 'ab'],
    ['private use', 'a\uE000b', 'ab'],
    ['lone surrogate', 'a\uD800b', 'ab'],
    ['line separator', 'a\u2028b', 'a\nb'],
    ['tab, line feed, carriage return', 'a\tb\nc\r', 'a\tb\nc\r'],
    ['bits in a run of joiners', 'a\u200D\u200C\u200D\u200Cb', 'a\u200Db'],
    ['bits in a run of selectors', 'a\uFE0F\uFE0E\uFE0E\uFE0Fb', 'a\uFE0Fb'],
    ['nothing but what cannot be seen', '\u200B\u{E0068}\u{E0069}\u202E', ''],
  ])('%s', (_name, dirty, clean) => {
    expect(sanitizeForPrompt(dirty)).toBe(clean)
  })

  test.each(['🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}', '👩‍👩‍👧‍👦', '❤️', '🇫🇷', '👍🏽', '🏳️‍🌈', '1️⃣'])(
    'the emoji sequence %s survives',
    (emoji) => {
      expect(sanitizeForPrompt(`x${emoji}y`)).toBe(`x${emoji}y`)
    },
  )

  test('text around flags is kept once and in order, however long it is', () => {
    const flag = '🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}'
    const long = 'what stands before, between and after '.repeat(3)
    expect(sanitizeForPrompt(`${long}\u200B${flag}${long}\u200B${flag}${long}`)).toBe(
      `${long}${flag}${long}${flag}${long}`,
    )
  })

  test('what is not text becomes empty', () => {
    expect(sanitizeForPrompt(42)).toBe('')
  })

  test('sanitizing twice changes nothing more', () => {
    const once = sanitizeForPrompt('a\u200D\u200B\u200Db\uFE0F\u200B\uFE0F')
    expect(sanitizeForPrompt(once)).toBe(once)
  })

  test('cutting never splits a code point', () => {
    expect(truncatePromptText(sanitizeForPrompt('ab😀cd'), 4, '')).toBe('ab😀')
    expect(truncatePromptText(sanitizeForPrompt('ab😀cd'), 3, '')).toBe('ab')
  })
  test('what fits stays as it is, to the last character', () => {
    expect(truncatePromptText(sanitizeForPrompt('abcdefgh'), 8)).toBe('abcdefgh')
  })

  test('what was cut says so, and the mark counts: the whole is never longer than it may be', () => {
    expect(truncatePromptText(sanitizeForPrompt('abcdefghi'), 8)).toBe('ab\n[cut]')
    expect(truncatePromptText(sanitizeForPrompt('abcdefghi'), 8, '…')).toBe('abcdefg…')
  })

  test('parts that are clean are joined and stay clean', () => {
    expect(joinPromptText([sanitizeForPrompt('a\u200B'), sanitizeForPrompt('b')], '\n')).toBe('a\nb')
  })
})
