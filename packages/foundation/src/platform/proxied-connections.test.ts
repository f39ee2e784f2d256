import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:https'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Agent, buildConnector, request as requestByUndici } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startConnectProxy } from '../../../../tests/support/connect-proxy.ts'
import { makeCertificate } from '../../../../tests/support/package-site.ts'
import { readProxies } from '../config/proxy-environment.ts'
import { connectorThrough, httpAgentThrough } from './proxied-connections.ts'

const far = 'far.test'

/** A TLS server under a name that only the proxy resolves, and a proxy that is itself reached over TLS. */
async function aTlsWorld() {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-tls-'))
  const [key, cert] = await makeCertificate(folder, far)
  const [proxyKey, proxyCert] = await makeCertificate(folder, 'localhost')
  const trusted = getCACertificates()
  setDefaultCACertificates([...trusted, cert, proxyCert])
  const server = createServer({ key, cert }, (_asked, response) => response.end('over TLS'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  const proxy = await startConnectProxy({ [far]: port })
  const front = createTlsServer({ key: proxyKey, cert: proxyCert }, (near) => {
    const behind = connect(proxy.port, '127.0.0.1')
    near.on('error', () => behind.destroy()).pipe(behind)
    behind.on('error', () => near.destroy()).pipe(near)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(async () => {
    setDefaultCACertificates(trusted)
    server.closeAllConnections()
    server.close()
    front.close()
    await proxy.close()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    proxy,
    url: `https://${far}:${port}/`,
    tlsProxy: `https://localhost:${(front.address() as AddressInfo).port}`,
  }
}

test.each(['http', 'https'] as const)(
  'TLS is spoken with the far end over a tunnel of a %s proxy',
  async (kind) => {
    const { proxy, url, tlsProxy } = await aTlsWorld()
    const rules = readProxies({ HTTPS_PROXY: kind === 'https' ? tlsProxy : proxy.url })
    const dispatcher = new Agent({ connect: connectorThrough(rules, buildConnector({})) })
    const byUndici = await requestByUndici(url, { dispatcher })
    expect(await byUndici.body.text()).toBe('over TLS')
    await dispatcher.destroy()

    const byNode = await new Promise<string>((resolve, reject) => {
      request(
        url,
        { agent: httpAgentThrough(rules, 'https:') },
        (reply) => void text(reply).then(resolve, reject),
      )
        .on('error', reject)
        .end()
    })
    expect(byNode).toBe('over TLS')
    expect(proxy.asked).toEqual([`CONNECT ${new URL(url).host}`, `CONNECT ${new URL(url).host}`])
  },
)
