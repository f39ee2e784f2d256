import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { startConnectProxy } from '../../../../../tests/support/connect-proxy.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { readProxies } from '../../../../foundation/src/config/proxy-environment.ts'
import { aFarEnd, aProxy, proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import type { ProxyHarnessOptions } from '../../../../testing/src/proxy-harness.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

/**
 * An echo server, a company's proxy that reaches it, and the mesh's own proxy, whose tunnels use the company's proxy.
 */
async function aCompany(options: ProxyHarnessOptions & { readonly noProxy?: string } = {}) {
  const far = await aFarEnd((socket) => void socket.pipe(socket))
  const company = await startConnectProxy({ 'only.example': far.port })
  const variables = { ALL_PROXY: company.url.replace('//', '//me:p%40ss@'), NO_PROXY: options.noProxy }
  const mesh = await aProxy({ ports: [far.port, 80], proxies: readProxies(variables), ...options })
  running.push(far, company, mesh)
  return { far, company, ...mesh }
}

async function echoOf(socket: Socket): Promise<string> {
  socket.write('hello')
  const chunk = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  return chunk.toString()
}

describe("agents' tunnels behind a company's proxy", () => {
  test("agents' tunnels behind a company's proxy ask it by CONNECT for the address that was checked, with its user and password", async () => {
    const { company, far, tunnel, counts } = await aCompany()
    const { socket, head } = await tunnel(`site.test:${far.port}`)
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(await echoOf(socket)).toBe('hello')
    expect(company.asked).toEqual([`CONNECT 127.0.0.1:${far.port}`])
    expect(company.authorizations).toEqual([`Basic ${Buffer.from('me:p@ss').toString('base64')}`])
    expect(counts.list(10)).toMatchObject([{ host: 'site.test', connections: 1 }])
  })

  test("agents' tunnels behind a company's proxy pass on what the far end says after this side has ended", async () => {
    const far = await aFarEnd((socket) => {
      let heard = ''
      socket.on('data', (chunk) => (heard += String(chunk))).on('end', () => socket.end(`got ${heard}`))
    })
    const company = await startConnectProxy()
    const { tunnel, ...mesh } = await aProxy({
      ports: [far.port],
      proxies: readProxies({ ALL_PROXY: company.url }),
    })
    running.push(far, company, mesh)
    const { socket } = await tunnel(`site.test:${far.port}`)
    socket.end('all of it')
    const said = await Array.fromAsync(socket as AsyncIterable<Buffer>)
    expect(Buffer.concat(said).toString()).toBe('got all of it')
  })

  test('carry plain requests too, by a tunnel', async () => {
    const web = await startWebServer((_request, response) => response.end('plain answer'))
    const company = await startConnectProxy()
    const mesh = await aProxy({ ports: [web.port], proxies: readProxies({ http_proxy: company.url }) })
    running.push(web, company, mesh)
    const answer = await mesh.raw(
      `GET http://site.test:${web.port}/a HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n${proxyAuthorization('scout-program')}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*plain answer/)
    expect(company.asked).toEqual([`CONNECT 127.0.0.1:${web.port}`])
    // The company's proxy sees no request header, and the site none of the mesh's proxy headers.
    expect(web.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  test.each(['site.test', '.test', '*', '*.test'])('NO_PROXY=%s leads past it', async (noProxy) => {
    const { company, far, tunnel } = await aCompany({ noProxy })
    const { socket } = await tunnel(`site.test:${far.port}`)
    expect(await echoOf(socket)).toBe('hello')
    expect(company.asked).toEqual([])
  })

  test.each([false, true])(
    "agents' tunnels behind a company's proxy never lead to a private address (names by the proxy: %s)",
    async (byName) => {
      const { company, far, tunnel } = await aCompany({ proxyResolvesNames: byName })
      for (const host of ['inside.test', '10.0.0.5', '169.254.169.254', '[fd00::1]', '2130706434', 'printer'])
        expect((await tunnel(`${host}:${far.port}`)).head, host).toMatch(/^HTTP\/1\.1 (?:403|502) /)
      expect(company.asked).toEqual([])
    },
  )

  test('a name that the mesh cannot resolve is refused with the setting that hands it over', async () => {
    const { company, far, tunnel } = await aCompany()
    const { head } = await tunnel(`only.example:${far.port}`)
    expect(head).toContain('egress.proxy_resolves_names')
    expect(company.asked).toEqual([])
  })

  test('with proxy_resolves_names the proxy is asked for names, except those of private networks', async () => {
    const { company, far, tunnel } = await aCompany({ proxyResolvesNames: true })
    for (const host of ['only.example', 'site.test']) {
      const { socket, head } = await tunnel(`${host}:${far.port}`)
      expect(head, host).toMatch(/^HTTP\/1\.1 200 /)
      socket.destroy()
    }
    const asked = ['only.example', 'site.test'].map((host) => `CONNECT ${host}:${far.port}`)
    expect(company.asked).toEqual(asked)
    for (const host of ['wiki.internal', 'wiki.corp', 'router.lan', 'db.local', 'intranet'])
      expect((await tunnel(`${host}:${far.port}`)).head, host).toMatch(/^HTTP\/1\.1 403 /)
    expect(company.asked).toEqual(asked)
  })
})

describe("what a company's proxy answers", () => {
  test.each([
    [407, 'http://USER:PASSWORD@HOST:PORT'],
    [403, 'many proxies open port 443 alone'],
    [502, 'the proxy cannot reach that destination'],
    [200.5, 'does not answer'],
  ])("%s is reported with its repair, and never as a problem of the mesh's proxy", async (status, repair) => {
    const { company, far, tunnel, openTunnels } = await aCompany()
    if (Number.isInteger(status)) company.refuseWith(status)
    else await company.close()
    const { head } = await tunnel(`site.test:${far.port}`)
    expect(head).toMatch(/^HTTP\/1\.1 502 /)
    expect(head).toContain(repair)
    expect(head).not.toContain('p@ss')
    expect(head).not.toContain('p%40ss')
    expect(openTunnels()).toBe(0)
  })

  test('a run that ends while the proxy is silent ends the wait', async () => {
    const silent = await aFarEnd(() => {})
    const mesh = await aProxy({
      ports: [443],
      proxies: readProxies({ ALL_PROXY: `http://127.0.0.1:${silent.port}` }),
    })
    running.push(silent, mesh)
    const waiting = mesh.tunnel('site.test:443')
    while (mesh.openTunnels() === 0) await new Promise((resolve) => setImmediate(resolve))
    mesh.cutAgent('scout')
    expect((await waiting).head).toMatch(/^HTTP\/1\.1 [45]/)
    expect(mesh.openTunnels()).toBe(0)
  })
})
