import { expect, onTestFinished, test } from 'vitest'
import { startConnectProxy } from '../../../../../tests/support/connect-proxy.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { readProxies } from '../../../../foundation/src/config/proxy-environment.ts'
import { createPinnedFetch } from './pinned-fetch.ts'

/** A public address; the proxy of these tests maps it to this machine. */
const publicAddress = '203.0.113.7'

async function aFetch(address: string, isAllowed: boolean) {
  const web = await startWebServer((_request, response) => response.end('answered'))
  const proxy = await startConnectProxy({ [publicAddress]: web.port })
  onTestFinished(async () => {
    await web.close()
    await proxy.close()
  })
  const place = `rpc.test:${web.port}`
  const fetch = createPinnedFetch({
    resolve: async () => [{ address, family: 4 }],
    isAllowed: () => isAllowed,
    allowedPorts: [web.port],
    proxies: readProxies({ ALL_PROXY: proxy.url }),
    exceptions: { covers: () => !isAllowed, opens: () => true },
  })
  const ask = async () => {
    const request = { url: new URL(`http://${place}/`), method: 'GET', headers: {}, body: '' }
    const reply = await fetch(request, AbortSignal.timeout(10_000))
    const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
    await reply.close()
    return text
  }
  return { ask, proxy, web, place }
}

test('the proxy gets the checked address, and the server sees the name', async () => {
  const { ask, proxy, web, place } = await aFetch(publicAddress, true)
  expect(await ask()).toBe('answered')
  expect(proxy.asked).toEqual([`CONNECT ${publicAddress}:${web.port}`])
  expect(web.requests[0]?.headers.host).toBe(place)
})

test('a private address that the owner opened is connected to directly', async () => {
  const { ask, proxy } = await aFetch('127.0.0.1', false)
  expect(await ask()).toBe('answered')
  expect(proxy.asked).toEqual([])
})

test('the error names a proxy that refuses the connection', async () => {
  const { ask, proxy, web } = await aFetch(publicAddress, true)
  proxy.refuseWith(403)
  await expect(ask()).rejects.toMatchObject({
    code: 'upstream-failed',
    detail: expect.stringContaining(
      `the proxy ${proxy.url} did not open a connection to ${publicAddress}:${web.port} (403)`,
    ) as unknown,
  })
})

test('a name that only the proxy resolves is asked for by name, where the owner says so', async () => {
  const web = await startWebServer((_request, response) => response.end('answered'))
  const proxy = await startConnectProxy({ 'only.example': web.port })
  onTestFinished(async () => {
    await web.close()
    await proxy.close()
  })
  const ask = (proxyResolvesNames: boolean) =>
    createPinnedFetch({
      resolve: async () => [],
      isAllowed: () => true,
      allowedPorts: [web.port],
      proxies: readProxies({ ALL_PROXY: proxy.url }),
      proxyResolvesNames,
    })(
      { url: new URL(`http://only.example:${web.port}/`), method: 'GET', headers: {}, body: '' },
      AbortSignal.timeout(10_000),
    )
  await expect(ask(false)).rejects.toMatchObject({ code: 'name-unresolved' })
  expect(proxy.asked).toEqual([])
  const reply = await ask(true)
  expect(reply.status).toBe(200)
  await reply.close()
  expect(proxy.asked).toEqual([`CONNECT only.example:${web.port}`])
})
