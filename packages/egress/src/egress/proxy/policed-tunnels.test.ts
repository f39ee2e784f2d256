import { afterEach, describe, expect, test } from 'vitest'
import { aFarEnd, aProxy, proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import { policyOf } from '../../../../testing/src/policy-of.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

async function aRoom(match: string, verdict: string) {
  const far = await aFarEnd((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  running.push(far)
  const checkEffect = policyOf(`rules:\n  - { name: r, match: ${match}, verdict: ${verdict}, reason: No. }`)
  const proxy = await aProxy({ ports: [far.port], checkEffect })
  running.push(proxy)
  return { far, proxy }
}

describe('connections of programs under a policy', () => {
  test.each(['deny', 'ask'])(
    'a tunnel to a host with the verdict %s is refused with 403',
    async (verdict) => {
      const { far, proxy } = await aRoom('{ host: site.test }', verdict)
      const { head } = await proxy.tunnel(`site.test:${far.port}`)
      expect(head).toMatch(/^HTTP\/1\.1 403 /)
      expect((await proxy.tunnel(`other.test:${far.port}`)).head).toMatch(/^HTTP\/1\.1 200 /)
    },
  )

  test('a rule about one path of a host refuses the whole tunnel, which hides its path', async () => {
    const { far, proxy } = await aRoom('{ host: site.test, path: /admin, method: POST }', 'deny')
    expect((await proxy.tunnel(`site.test:${far.port}`)).head).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('a rule that allows one path of a host opens no rule that denies its tunnel', async () => {
    const { far, proxy } = await aRoom('{ tool: connect }', 'allow')
    expect((await proxy.tunnel(`site.test:${far.port}`)).head).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a request in absolute form is decided by its path', async () => {
    const { far, proxy } = await aRoom('{ host: site.test, path: /admin }', 'deny')
    const get = (path: string) =>
      proxy.raw(
        `GET http://site.test:${far.port}${path} HTTP/1.1\r\nhost: site.test:${far.port}\r\n${proxyAuthorization('scout-program')}\r\nconnection: close\r\n\r\n`,
      )
    expect(await get('/admin')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await get('/%61dmin')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await get('/other')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a request in absolute form is decided by the method that its header or query names', async () => {
    const { far, proxy } = await aRoom('{ host: site.test, method: DELETE }', 'deny')
    const post = (more: string, query = '') =>
      proxy.raw(
        `POST http://site.test:${far.port}/7${query} HTTP/1.1\r\nhost: site.test:${far.port}\r\n${proxyAuthorization('scout-program')}\r\ncontent-length: 0\r\n${more}connection: close\r\n\r\n`,
      )
    expect(await post('x-http-method-override: DELETE\r\n')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await post('', '?_method=DELETE')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await post('')).toMatch(/^HTTP\/1\.1 200 /)
  })
})
