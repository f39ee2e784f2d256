import { describe, expect, test } from 'vitest'
import { withoutValues } from '../tabs/request-log.ts'
import { createSecrets } from '../tabs/secrets.ts'
import { isWebAddress } from '../tabs/living-browser.ts'
import { translated } from './action-problem.ts'
import { contentTypeOf, plainName } from './files.ts'
import { captchaOfFrame, siteKeyOf } from './find-captcha.ts'
import { jpegSize } from './screenshot.ts'

describe('what leaves the browser', () => {
  test('a text that leaves the browser holds no secret, in whatever spelling a page carries it on', () => {
    const secrets = createSecrets()
    secrets.add('p&ss w/rd')
    const said =
      'p&ss w/rd | p%26ss%20w%2Frd | p%26ss+w%2Frd | cCZzcyB3L3Jk | P&amp;SS W/RD | p&ss\u200bw/rd rest'
    expect(secrets.scrub(said)).toBe(`${Array.from({ length: 6 }, () => '[secret]').join(' | ')} rest`)
  })

  test('a text that leaves the browser holds no short secret as it is, and leaves words alone that only resemble it', () => {
    const secrets = createSecrets()
    expect(secrets.any).toBe(false)
    secrets.add('4711')
    expect(secrets.any).toBe(true)
    expect(secrets.scrub('PIN 4711, code 47 11')).toBe('PIN [secret], code 47 11')
  })

  test('a text that leaves the browser holds no beginning of a secret where a text was cut', () => {
    const secrets = createSecrets()
    secrets.add('tops3cret-value')
    const text = `${'x'.repeat(500)} tops3cret-value and ${'y'.repeat(400)} tops3c`
    expect(secrets.scrubCut(text)).not.toMatch(/tops3/)
    expect(secrets.scrubCut(text)).toContain('[secret] and')
  })

  test.each([
    ['https://u:p@shop.test/a?card=1&x=2#frag', 'https://shop.test/a?card=&x='],
    ['wss://shop.test/live', 'wss://shop.test/live'],
    ['data:text/plain,secret', 'data:'],
    ['nonsense', ''],
  ])('a text that leaves the browser of %s is %s', (url, told) => {
    expect(withoutValues(url)).toBe(told)
  })

  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\x\\a.txt', 'a.txt'],
    ['..', 'file'],
    ['a\u202e\u0000b.pdf', 'ab.pdf'],
    ['', 'file'],
  ])('a text that leaves the browser is a file named %j as %j', (name, plain) => {
    expect(plainName(name)).toBe(plain)
  })

  test.each([
    [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), 'image/png'],
    [Buffer.from('%PDF-1.7'), 'application/pdf'],
    [Buffer.from('\u007fELF'), 'application/x-executable'],
    [Buffer.from('  <!DOCTYPE html><p>'), 'text/html'],
    [Buffer.from('name,size'), 'text/plain'],
    [Buffer.from([0, 159, 146, 150]), 'application/octet-stream'],
  ])('a text that leaves the browser is by its content %#', (content, type) => {
    expect(contentTypeOf(content)).toBe(type)
  })
})

describe('an address', () => {
  test.each([
    ['http://shop.test', true],
    ['HTTPS://shop.test/x', true],
    ['file:///etc/passwd', false],
    ['javascript:alert(1)', false],
    ['data:text/html,x', false],
    ['chrome://version', false],
    ['view-source:http://shop.test', false],
    ['blob:http://shop.test/1', false],
    ['shop.test', false],
  ])('%s may be opened: %s', (url, may) => {
    expect(isWebAddress(url)).toBe(may)
  })

  test.each([
    ['https://www.google.com/recaptcha/api2/anchor?size=normal', 'recaptcha'],
    ['https://www.google.com/recaptcha/api2/anchor?size=invisible', null],
    ['https://www.google.com/recaptcha/api2/bframe?k=1', 'recaptcha'],
    ['https://newassets.hcaptcha.com/captcha/v1/x', 'hcaptcha'],
    ['https://challenges.cloudflare.com/cdn-cgi/x', 'turnstile'],
    ['https://shop.test/Captcha.html', 'generic'],
    ['https://nothcaptcha.com.shop.test/', 'generic'],
    ['https://shop.test/', null],
    ['about:blank', null],
  ])('an address of a frame %s is a captcha: %s', (url, kind) => {
    expect(captchaOfFrame(url)).toBe(kind)
  })

  test.each([
    [
      'recaptcha',
      'https://www.google.com/recaptcha/api2/anchor?ar=1&k=6LfD3PIbAAAAAJs_eEHvoOl75',
      '6LfD3PIbAAAAAJs_eEHvoOl75',
    ],
    ['recaptcha', 'https://www.google.com/recaptcha/enterprise/anchor?k=6LfD3PIbAAAAAJs_eEHvoOl75', null],
    ['recaptcha', 'https://www.google.com/recaptcha/api2/anchor?k=%22%5D%2Cscript', null],
    [
      'hcaptcha',
      'https://newassets.hcaptcha.com/captcha/v1/x#frame=checkbox&sitekey=10000000-ffff',
      '10000000-ffff',
    ],
    [
      'turnstile',
      'https://challenges.cloudflare.com/cdn-cgi/x/turnstile/if/ov2/0x4AAAAAAADnPIDROrmt1Wwj/light',
      '0x4AAAAAAADnPIDROrmt1Wwj',
    ],
    ['turnstile', 'https://challenges.cloudflare.com/cdn-cgi/x', null],
    ['generic', 'https://shop.test/captcha?k=6LfD3PIbAAAAAJs_eEHvoOl75', null],
  ] as const)('%s at %s has the key %s', (kind, url, key) => {
    expect(siteKeyOf(kind, url)).toBe(key)
  })
})

test('Playwright’s words become a code and one line', () => {
  const said = (message: string) => translated(new Error(message))
  expect(said('page.goto: net::ERR_TUNNEL_CONNECTION_FAILED at http://x/\nCall log:\n...')).toMatchObject({
    code: 'page-failed',
    message: 'The page did not load: net::ERR_TUNNEL_CONNECTION_FAILED at http://x/',
  })
  expect(said('elementHandle.click: Timeout 5ms exceeded.\n  - element is not visible')).toMatchObject({
    code: 'not-possible',
    message: expect.stringContaining('the element is not visible'),
  })
  expect(said('Target page, context or browser has been closed')).toMatchObject({ code: 'browser-crashed' })
})

test('the size of a JPEG is read from its frame header, and other data has no size', () => {
  const jpeg = Buffer.from('ffd8ffe000040000ffc0001108032005000301', 'hex')
  expect(jpegSize(jpeg)).toEqual({ width: 1280, height: 800 })
  expect(jpegSize(Buffer.from('not a picture at all'))).toBeNull()
})
