import { describe, expect, test } from 'vitest'
import { readProxies } from './proxy-environment.ts'

const proxy = 'http://proxy.corp:3128'
const through = (variables: Record<string, string>, url: string) =>
  readProxies(variables).of(new URL(url))?.shown ?? null

describe('the proxy of an address', () => {
  test.each([
    [{ HTTPS_PROXY: proxy }, 'https://api.openai.com/v1', proxy],
    [{ https_proxy: proxy }, 'https://api.openai.com/v1', proxy],
    [{ https_proxy: proxy, HTTPS_PROXY: 'http://other:1' }, 'https://api.openai.com/v1', proxy],
    [{ HTTPS_PROXY: proxy }, 'http://models.corp/v1', null],
    [{ HTTP_PROXY: proxy }, 'http://models.corp/v1', proxy],
    [{ ALL_PROXY: proxy }, 'https://api.openai.com/v1', proxy],
    [{ all_proxy: proxy, https_proxy: 'http://other:1' }, 'https://api.openai.com', 'http://other:1'],
    [{ HTTPS_PROXY: proxy }, 'wss://gateway.discord.gg', proxy],
    [{ HTTPS_PROXY: 'proxy.corp:3128' }, 'https://a.com', proxy],
    [{ HTTPS_PROXY: '' }, 'https://a.com', null],
  ])('%o %s', (variables, url, expected) => {
    expect(through(variables as Record<string, string>, url)).toBe(expected)
  })

  test('the proxy of an address goes to programs that the mesh starts, in both spellings, from .env too', () => {
    const rules = readProxies({ HTTPS_PROXY: proxy }, { no_proxy: 'a.com' })
    expect(rules.forPrograms()).toEqual({
      https_proxy: proxy,
      HTTPS_PROXY: proxy,
      no_proxy: 'a.com',
      NO_PROXY: 'a.com',
    })
  })

  test.each(['10.64.0.2', '10.127.255.254', '[::ffff:10.70.4.1]'])(
    'no proxy is used for the private network of a fleet: %s',
    (host) => {
      expect(through({ ALL_PROXY: proxy }, `http://${host}:8420/`)).toBeNull()
    },
  )

  test.each([
    [{ HTTPS_PROXY: proxy }, { https_proxy: 'http://other:1' }, proxy],
    [{ https_proxy: proxy }, { HTTPS_PROXY: 'http://other:1' }, proxy],
    [{ HTTPS_PROXY: proxy, NO_PROXY: 'b.com' }, { no_proxy: 'a.com' }, proxy],
    [{ HTTPS_PROXY: proxy }, { no_proxy: 'a.com' }, null],
    [{}, { HTTPS_PROXY: proxy }, proxy],
  ])('%o of the environment wins over %o of .env, in whatever spelling', (variables, file, expected) => {
    const rules = readProxies(variables, file)
    expect(rules.of(new URL('https://a.com'))?.shown ?? null).toBe(expected)
  })

  test.each([
    'localhost',
    'a.localhost',
    '127.0.0.1',
    '127.8.9.1',
    '0.0.0.0',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
  ])('loopback has no proxy, whatever NO_PROXY says: %s', (host) => {
    expect(through({ ALL_PROXY: proxy }, `http://${host}:8420/`)).toBeNull()
  })

  test.each([
    ['*', 'https://a.com', true],
    ['a.com', 'https://a.com', true],
    ['a.com', 'https://x.a.com', true],
    ['a.com', 'https://ba.com', false],
    ['.a.com', 'https://x.a.com', true],
    ['*.a.com', 'https://x.a.com', true],
    ['A.COM', 'https://x.a.com.', true],
    ['a.com:8443', 'https://a.com:8443', true],
    ['a.com:8443', 'https://a.com', false],
    ['a.com:443', 'https://a.com', true],
    ['10.0.0.0/8', 'http://10.1.2.3:9000', true],
    ['10.0.0.0/8', 'http://11.1.2.3', false],
    ['10.1.2.3', 'http://10.1.2.3', true],
    ['10.1.2.3:80', 'http://10.1.2.3', true],
    ['10.1.2.3:81', 'http://10.1.2.3', false],
    ['fd00::/8', 'http://[fd00::1]', true],
    ['[fd00::1]', 'http://[fd00::1]', true],
    ['fd00::1', 'http://[fd00::1]', true],
    ['[fd00::1]:8080', 'http://[fd00::1]', false],
    ['[fd00::1]:8080', 'http://[fd00::1]:8080', true],
    ['10.0.0.0/99, nonsense/8 ,, a.com', 'https://a.com', true],
    ['x.com a.com', 'https://a.com', true],
    ['bücher.example', 'https://bücher.example', true],
    ['.BÜCHER.example:443', 'https://x.xn--bcher-kva.example', true],
    ['xn--bcher-kva.example', 'https://bücher.example', true],
    ['', 'https://a.com', false],
    ['192.168.*', 'http://192.168.7.1:8080', true],
    ['192.168.*', 'http://192.169.7.1', false],
    ['192.168.*', 'https://192.168.example.com', false],
    ['10.*:8080', 'http://10.1.2.3:8080', true],
    ['10.*:8080', 'http://10.1.2.3', false],
    ['<local>', 'https://intranet', true],
    ['<LOCAL>', 'http://intranet:8080', true],
    ['<local>', 'https://intranet.corp', false],
    ['<local>', 'http://10.1.2.3', false],
    ['<local>', 'http://[fd00::1]', false],
    ['*.example.com', 'https://example.com', true],
    ['.example.com', 'https://example.com', true],
    ['*.example.com', 'https://an-example.com', false],
    ['https://a.com', 'https://a.com', false],
    ['[fd00::]/8', 'http://[fd00::1]', true],
  ])('NO_PROXY=%s and %s: direct is %s', (entries, url, isDirect) => {
    expect(through({ ALL_PROXY: proxy, NO_PROXY: entries }, url)).toBe(isDirect ? null : proxy)
  })

  test.each([
    ['https://a.com', 'name the host alone'],
    ['http://ann:secret@a.com/x', 'name the host alone'],
    ['a.com:99999', 'its port is not a number from 1 to 65535'],
    ['a.com:https', 'its port is not a number from 1 to 65535'],
    ['10.0.0.0/33', 'it is not a network'],
    ['a.com/8', 'it is not a network'],
    ['api.*.com', 'write a star only before a whole name'],
    ['a*.com', 'write a star only before a whole name'],
    ['10.*.1.2', 'write a star only before a whole name'],
    ['[fd00:x]:80', 'it is not an IPv6 address'],
    ['<everything>', 'it is not the name of a host'],
    ['.', 'it names no host'],
  ])('an entry of NO_PROXY that cannot be used is named with the reason: %s', (entry, reason) => {
    const { directFaults } = readProxies({ ALL_PROXY: proxy, no_proxy: `b.com,${entry}` })
    expect(directFaults).toEqual([expect.stringContaining(reason)])
    expect(directFaults[0]).toMatch(/^no_proxy: .+ has no effect: /)
    expect(directFaults.join()).not.toMatch(/secret|ann/)
  })

  test('names a bounded number of entries without effect, and says that more than a thousand are not used', () => {
    const many = Array.from({ length: 1001 }, (_, index) => `https://a${index}.com`).join()
    const { directFaults } = readProxies({ ALL_PROXY: proxy, NO_PROXY: many })
    expect(directFaults.slice(20)).toEqual([
      'NO_PROXY: 980 more entries have no effect',
      'NO_PROXY: only the first 1000 entries are used',
    ])
  })

  test('the proxy of an address shows no user and no password, and hands them on as the header', () => {
    const rules = readProxies({ HTTPS_PROXY: 'http://ann:p%40ss@proxy.corp:3128' })
    const found = rules.of(new URL('https://a.com'))
    expect(JSON.stringify(rules)).not.toMatch(/ann|p%40ss|p@ss/)
    expect(found?.authorization()).toBe(`Basic ${Buffer.from('ann:p@ss').toString('base64')}`)
  })

  test.each(['socks5://ann:secret@proxy:1080', 'http://', 'ftp://proxy'])(
    'a proxy of another kind is reported as without effect, and never with its value: %s',
    (value) => {
      const rules = readProxies({ ALL_PROXY: value })
      expect(rules.of(new URL('https://a.com'))).toBeNull()
      expect(rules.faults).toEqual([expect.stringMatching(/^ALL_PROXY has no effect: /)])
      expect(rules.faults.join()).not.toMatch(/secret|ann/)
    },
  )
})
