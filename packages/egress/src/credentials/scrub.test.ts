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

  test('scrubbing says where a value is, in order, once where its spellings overlap', () => {
    const text = `a ${value} b ${value.toUpperCase()} c`
    const [first, second] = [text.indexOf(value), text.indexOf(value.toUpperCase())]
    expect(scrubOf(value).find(text)).toEqual([
      { from: first, to: first + value.length },
      { from: second, to: second + value.length },
    ])
    expect(scrubOf(value).find('nothing of it')).toEqual([])
  })

  test('scrubbing leaves a text whose beginning is a value without its blanks, because so little may be anything', () => {
    const text = 'abcdef\u0000\u0000'
    expect(scrubOf('a b c d e f').text(text)).toBe(text)
    expect(scrubOf('a b c d e f').text('x a b c d e f x')).toBe('x [secret] x')
  })

  test('scrubbing takes base64 out at every alignment, with the digits that it shares', () => {
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

  test('scrubbing finds any value in any mixture of escapes, and changes nothing else', () => {
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

  test('scrubbing removes base64 with its padding and the digits that encode the value, and no more', () => {
    const scrub = scrubOf('password-01')
    const spelled = (text: string) => Buffer.from(text).toString('base64')
    // Base64 of eleven bytes ends with one `=`, of ten with two, of twelve with none.
    expect(scrub.text(`key=${spelled('password-01')};`)).toBe('key=[secret];')
    expect(scrubOf('password-0').text(`key=${spelled('password-0')};`)).toBe('key=[secret];')
    expect(scrubOf('password-012').text(`${spelled('password-012')} next`)).toBe('[secret] next')
    expect(scrub.text(`${spelled('password-01')}===== head`)).toBe('[secret]==== head')
    // With other bytes around the secret, its first and last digit also encode neighboring bits.
    expect(scrub.text(spelled('user:password-01!more'))).toBe('dXNlcj[secret]Ftb3Jl')
  })

  test('the reach of scrubbing is the longest encoding of the longest value', () => {
    const values = ['password', '0123456789abcdef', 'passwort']
    const twice = (text: string) =>
      Array.from(text)
        .map((c) => `${String.raw`\\u00`}${c.charCodeAt(0).toString(16)}`)
        .join('')
    expect(scrubOf(...values).text(`${twice('0123456789abcdef')}.`)).toBe('[secret].')
    expect(scrubOf(...values).reachChars).toBeGreaterThanOrEqual(2 * twice('0123456789abcdef').length)
    expect(createScrub([]).reachChars).toBe(0)
  })

  test('scrubbing does not reveal a value that begins where the text was cut', () => {
    const scrub = scrubOf('0123456789abcdef')
    const rest = '0123456789abcdef'.padEnd(scrub.reachChars, 'x')
    expect(scrub.cutText(`the key is ${rest}`)).toBe('the key is ')
    expect(scrub.cutText(`the key is  ${rest.slice(0, -1)}`)).toBe('the key is ')
  })

  test('scrubbing ignores values too short for a credential, because ordinary words would be removed', () => {
    expect(scrubOf('four').text('four 666f7572')).toBe('four 666f7572')
    expect(scrubOf('four').isIn('four')).toBe(false)
    expect(scrubOf(value).isIn('nothing of it')).toBe(false)
    expect(createScrub([]).isIn('nothing of it')).toBe(false)
    expect(scrubOf('password').text('password')).toBe('[secret]')
  })

  test('scrubbing leaves nothing of two values that overlap, and a mark for each of two side by side', () => {
    const scrub = scrubOf('password-of', 'of-mine-0123', 'passwort')
    expect(scrub.text('a password-of-mine-0123 b')).toBe('a [secret] b')
    expect(scrub.text('a passwortpassword-of b')).toBe('a [secret][secret] b')
    expect(scrub.text('password-of')).toBe('[secret]')
    expect(scrubOf('word-of-mi', 'password-of-mine').text('a password-of-mine b')).toBe('a [secret] b')
  })

  test('scrubbing removes a value in other letter case, and base64 of JSON that contains it', () => {
    expect(scrubOf('SCHLÜSSEL-ÄÖ').text('schlüssel-äö')).toBe('[secret]')
    expect(scrubOf('schlüssel-äö').text('SCHLÜSSEL-ÄÖ')).toBe('[secret]')
    const header = JSON.stringify({ authorization: `Bearer ${value} and more` })
    expect(scrubOf(value).isIn(Buffer.from(header).toString('base64'))).toBe(true)
    expect(scrubOf(value).isIn(Buffer.from(header).toString('hex'))).toBe(true)
  })

  test('scrubbing takes out a value that was broken over lines or folded into a header', () => {
    expect(scrubOf('two words of mine').text('a two\r\n words\tof mine b')).toBe('a [secret] b')
    expect(scrubOf('two words of mine').text('a twowordsofmine b')).toBe('a [secret] b')
  })

  test('scrubbing walks names as well as values', () => {
    heedsLesson(30)
    expect(scrubOf(value).record({ [`x-${value}`]: 'a', b: `c ${value}` })).toEqual({
      'x-[secret]': 'a',
      b: 'c [secret]',
    })
  })

  test('scrubbing leaves out the end of a text that was cut, in which a value may have begun', () => {
    const scrub = scrubOf('0123456789abcdef')
    const end = 'x'.repeat(scrub.reachChars)
    expect(scrub.cutText(`the key is 0123456789abcdef${end.slice(3)}`)).toBe('the key is [secret]')
    expect(scrub.cutText(`the key is 0123456789abcdef.${end}`)).toBe('the key is [secret].')
    expect(scrub.cutText('the key is 0123456789')).toBe('')
    expect(createScrub([]).cutText('the key is 0123456789')).toBe('the key is 0123456789')
  })

  test('the cut end of a text does not reveal whether it is the beginning of a value', () => {
    const scrub = scrubOf('known-to-everybody', 'sk-api03-0123456789')
    // Removed values shorten the response, so the cut end moves to a visible place.
    const body = (end: string) => 'known-to-everybody '.repeat(500).slice(0, -end.length) + end
    const tails = ['sk-api03-01', 'sk-api03-99', 'other-stuff'].map((end) => scrub.cutText(body(end)))
    expect(new Set(tails).size).toBe(1)
  })

  test('scrubbing keeps the secrets of two calls apart', () => {
    heedsLesson(29)
    const [one, two] = [scrubOf('secret-of-one'), scrubOf('secret-of-two')]
    const text = 'secret-of-one secret-of-two'
    expect(one.text(text)).toBe('[secret] secret-of-two')
    expect(two.text(text)).toBe('secret-of-one [secret]')
    expect(createScrub([]).text(text)).toBe(text)
  })

  test('scrubbing spells a value once for all calls', () => {
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

  test('scrubbing takes the longer of two values out whole', () => {
    expect(scrubOf('password', 'password-of-mine').text('a password-of-mine b password c')).toBe(
      'a [secret] b [secret] c',
    )
  })
})
