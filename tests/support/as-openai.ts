import { readProxies } from '../../packages/foundation/src/config/proxy-environment.ts'
import type { ProxyRules } from '../../packages/foundation/src/config/proxy-environment.ts'
import { startConnectProxy } from './connect-proxy.ts'

/** A server on loopback under the name of OpenAI's host, which a proxy on loopback connects to it. */
export async function asOpenAi(address: string): Promise<{
  readonly baseUrl: string
  readonly proxies: ProxyRules
  /** The environment with which a mesh uses the proxy. */
  readonly environment: Readonly<Record<string, string>>
  close(): Promise<void>
}> {
  const { port } = new URL(address)
  const proxy = await startConnectProxy({ 'api.openai.com': Number(port) })
  const environment = { HTTP_PROXY: proxy.url }
  return {
    baseUrl: `http://api.openai.com:${port}/v1`,
    proxies: readProxies(environment),
    environment,
    close: proxy.close,
  }
}
