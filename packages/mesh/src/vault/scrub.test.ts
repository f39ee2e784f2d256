import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createScrubs } from './scrub.ts'
import { createSecret } from './secret.ts'

const value = 'sk-Live_ä"%+/x 9zQ'
const createScrub = createScrubs()
const scrubOf = (...values: string[]) => createScrub(values.map((one) => createSecret('a', one)))

describe('scrubbing', () => {
  const utf8 = Buffer.from(value)
  test.each<[string, string]>([
    ['as it is', value],
    ['in upper case', value.toUpperCase()],
    ['in lower case', value.toLowerCase()],
    ['percent-encoded', encodeURIComponent(value)],
    ['percent-encoded in lower case', encodeURIComponent(value).toLowerCase()],
    ['percent-encoded whole', [...utf8].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(value))],
    ['in a form', new URLSearchParams({ value }).toString().slice('value='.length)],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    [
      'in JSON as code points',
      Array.from(value)
        .map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    ],
    ['in JSON within JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
    ['in JSON within an address', encodeURIComponent(JSON.stringify(value).slice(1, -1))],
    ['in XML', value.replace(/["&<>]/g, (c) => `&#${c.charCodeAt(0)};`).replace('"', '&quot;')],
    ['in XML by names', value.replace('"', '&quot;')],
    ['as hex', utf8.toString('hex')],
    ['as upper-case hex', utf8.toString('hex').toUpperCase()],
    ['as base64', utf8.toString('base64')],
    ['as base64 for addresses', utf8.toString('base64url')],
    ['as base64 of a line', Buffer.from(`user:${value}\n`).toString('base64')],
    ['as wrapped base64', utf8.toString('base64').replace(/(.{7})/g, '$1\r\n')],
    ['as base64 in JSON', JSON.stringify(utf8.toString('base64').replace(/(.{7})/g, '$1\n')).slice(1, -1)],
    ['as percent-encoded base64', encodeURIComponent(utf8.toString('base64'))],
    ['as base64 of the percent-encoded', Buffer.from(encodeURIComponent(value)).toString('base64')],
  ])('takes a value out %s', (_how, spelled) => {
    const scrub = scrubOf(value)
    const clean = scrub.text(`before [${spelled}] after`)
    expect(clean).toMatch(/^before \[.{0,8}\[secret\][\s\S]{0,6}\] after$/)
    expect(scrub.isIn(spelled)).toBe(true)
  })

  test('takes base64 out at every alignment, with the digits that it shares', () => {
    for (const before of ['', 'a', 'ab', 'abc']) {
      for (const after of ['', 'z', 'zz']) {
        const whole = Buffer.from(before + value + after)
        for (const encoding of ['base64', 'base64url'] as const) {
          const clean = scrubOf(value).text(whole.toString(encoding))
          const left = Buffer.from(clean.replace('[secret]', ' ').split(' ')[0] ?? '', 'base64').toString()
          expect(before.startsWith(left), `${before}|${after}: ${clean}`).toBe(true)
          expect(clean.replace('[secret]', '').length).toBeLessThanOrEqual(8)
        }
      }
    }
  })

  test('finds any value in any mixture of escapes, and changes nothing else', () => {
    const escapes = [
      (c: string) => c,
      (c: string) => encodeURIComponent(c),
      (c: string) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
      (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      (c: string) => `&#${c.charCodeAt(0)};`,
    ]
    const plain = fc.string({
      unit: fc.constantFrom(...Array.from('abcXYZ019.:~')),
      minLength: 8,
      maxLength: 30,
    })
    fc.assert(
      fc.property(plain, fc.array(fc.nat({ max: 4 }), { minLength: 30, maxLength: 30 }), (secret, picks) => {
        const spelled = Array.from(secret)
          .map((c, at) => escapes[picks[at] ?? 0]?.(c) ?? c)
          .join('')
        expect(scrubOf(secret).text(`<< ${spelled} >>`)).toBe('<< [secret] >>')
      }),
    )
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(scrubOf('c0rrect-horse-battery').text(text)).toBe(text)
      }),
    )
  })

  test('walks names as well as values', () => {
    heedsLesson(30)
    expect(scrubOf(value).record({ [`x-${value}`]: 'a', b: `c ${value}` })).toEqual({
      'x-[secret]': 'a',
      b: 'c [secret]',
    })
  })

  test('leaves out the end of a text that was cut, in which a value may have begun', () => {
    const scrub = scrubOf('0123456789abcdef')
    const end = 'x'.repeat(scrub.reachChars)
    expect(scrub.cutText(`the key is 0123456789abcdef${end.slice(3)}`)).toBe('the key is [secret]')
    expect(scrub.cutText(`the key is 0123456789abcdef.${end}`)).toBe('the key is [secret].')
    expect(scrub.cutText('the key is 0123456789')).toBe('')
    expect(createScrub([]).cutText('the key is 0123456789')).toBe('the key is 0123456789')
  })

  test('does not tell at the cut end of a text whether a value begins like what stands there', () => {
    const scrub = scrubOf('known-to-everybody', 'sk-api03-0123456789')
    // What is known shrinks in the answer, so that the cut end moves up to where it is shown.
    const body = (end: string) => 'known-to-everybody '.repeat(500).slice(0, -end.length) + end
    const tails = ['sk-api03-01', 'sk-api03-99', 'other-stuff'].map((end) => scrub.cutText(body(end)))
    expect(new Set(tails).size).toBe(1)
  })

  test('keeps the secrets of two calls apart', () => {
    heedsLesson(29)
    const [one, two] = [scrubOf('secret-of-one'), scrubOf('secret-of-two')]
    const text = 'secret-of-one secret-of-two'
    expect(one.text(text)).toBe('[secret] secret-of-two')
    expect(two.text(text)).toBe('secret-of-one [secret]')
    expect(createScrub([]).text(text)).toBe(text)
  })

  test('spells a value once for all calls', () => {
    let reads = 0
    const held = { name: 'a', reveal: () => (reads++, 'value-0123456789') }
    const scrubFor = createScrubs()
    const readsOf = () => {
      reads = 0
      expect(scrubFor([held]).text('value-0123456789')).toBe('[secret]')
      return reads
    }
    const first = readsOf()
    expect([readsOf(), readsOf()]).toEqual([first - 1, first - 1])
  })

  test('takes the longer of two values out whole', () => {
    expect(scrubOf('password', 'password-of-mine').text('a password-of-mine b password c')).toBe(
      'a [secret] b [secret] c',
    )
  })

  test.each<[string, string, string]>([
    ['one letter', 'a', `${'a'.repeat(9999)}b`],
    ['percent signs', '%', value],
    ['half escapes', '%4', value],
    ['backslashes', '\\', value],
    ['entities that never end', '&#1', value],
    ['all but the last letter of the value', value.slice(0, -1), value],
    ['the value', value, value],
  ])('takes twice the time for twice the text of %s', (_what, piece, secret) => {
    heedsLesson(30)
    const scrub = scrubOf(secret)
    const timeFor = (chars: number) => {
      const text = piece.repeat(Math.ceil(chars / piece.length))
      const times = [1, 2, 3, 4].map(() => {
        const began = performance.now()
        scrub.text(text)
        return performance.now() - began
      })
      return Math.min(...times)
    }
    timeFor(100_000)
    // A quadratic search would take sixteen times as long at every try; a busy machine does so at some.
    const ratios: number[] = []
    while (ratios.length < 8 && !ratios.some((ratio) => ratio < 8))
      ratios.push(timeFor(800_000) / timeFor(200_000))
    expect(Math.min(...ratios)).toBeLessThan(8)
  })
})
