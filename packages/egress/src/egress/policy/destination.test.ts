import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { destinationOf, parseHostAndPort, textOf } from './destination.ts'

describe('host and port', () => {
  test.each([
    ['example.com:443', 'example.com', 443],
    ['EXAMPLE.com.:80', 'example.com', 80],
    ['[2606:4700::1]:443', '2606:4700::1', 443],
    ['[::FFFF:10.0.0.1]:80', '::ffff:a00:1', 80],
    ['2130706433:80', '127.0.0.1', 80],
    ['0x7f.1:80', '127.0.0.1', 80],
    ['0177.0.0.1:80', '127.0.0.1', 80],
    ['127.1:80', '127.0.0.1', 80],
    ['1.2.3.4.:80', '1.2.3.4', 80],
    ['xn--bcher-kva.example:443', 'xn--bcher-kva.example', 443],
    ['example.com:1', 'example.com', 1],
    ['example.com:65535', 'example.com', 65_535],
    ['_dmarc.example:443', '_dmarc.example', 443],
    [`${'a'.repeat(63)}.test:80`, `${'a'.repeat(63)}.test`, 80],
    [`${'a.'.repeat(126)}a:80`, `${'a.'.repeat(126)}a`, 80],
  ])('%s is normalized', (text, host, port) => {
    expect(parseHostAndPort(text)).toEqual({ host, port })
  })

  test.each([
    '',
    'example.com',
    ':443',
    'example.com:',
    'example.com:0',
    'example.com:65536',
    'example.com:443x',
    'user@example.com:443',
    'user:pass@example.com:443',
    'example.com/:443',
    'http://example.com:443',
    '[fe80::1%25eth0]:80',
    '[fe80::1%eth0]:80',
    '::1:80',
    '[::1:80',
    'exa mple.com:80',
    'example.com\r\nx:80',
    'a..b:80',
    'example.com..:80',
    '.:80',
    '256.1.1.1:80',
    '1.2.3.4.5:80',
    '0x100000000:80',
    `${'a'.repeat(64)}.test:80`,
    `${'a.'.repeat(127)}ab:80`,
    `${'a.'.repeat(126)}ab:80`,
    'example.com:000443',
    'x example.com:443',
    'example.com:443\n',
    'bücher.example:443',
    '%31.example:443',
    '*.example.com:443',
  ])('%j is refused', (text) => {
    expect(parseHostAndPort(text)).toBeNull()
  })

  test('normalizing a destination again changes nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webAuthority({ withPort: true })), (text) => {
        const read = parseHostAndPort(text)
        if (read === null) return
        expect(parseHostAndPort(textOf(read))).toEqual(read)
        expect(read.host).toMatch(/^[a-z0-9._:-]+$/)
      }),
    )
  })

  test('a URL gives its host and the port of its scheme', () => {
    expect(destinationOf(new URL('https://a.test/x'))).toEqual({ host: 'a.test', port: 443 })
    expect(destinationOf(new URL('http://[::1]:8080/'))).toEqual({ host: '::1', port: 8080 })
    expect(destinationOf(new URL('http://bücher.example./'))).toEqual({
      host: 'xn--bcher-kva.example',
      port: 80,
    })
    expect(destinationOf(new URL('http://a.test/'))).toEqual({ host: 'a.test', port: 80 })
    expect(destinationOf(new URL('https://a.test:8443/'))).toEqual({ host: 'a.test', port: 8443 })
    expect(destinationOf(new URL('ftp://a.test/'))).toBeNull()
    expect(destinationOf(new URL('file:///etc/passwd'))).toBeNull()
    expect(destinationOf(new URL('http://a..test/'))).toBeNull()
  })
})
