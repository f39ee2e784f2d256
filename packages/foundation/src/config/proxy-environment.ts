import { BlockList } from 'node:net'
import { bareHost, isWithin, readNoProxy } from './no-proxy.ts'

/** A company's proxy for outbound connections. */
export interface Proxy {
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  readonly port: number
  /** The address for display, without user name and password. */
  readonly shown: string
  /** The value of `proxy-authorization`, a secret; null if the address has no user. */
  readonly authorization: () => string | null
}

/** Which outbound connections go through a proxy, by `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. */
export interface ProxyRules {
  /** Returns null for a direct connection. Loopback and the private networks of fleets never go through a proxy. */
  readonly of: (url: URL) => Proxy | null
  /** Each proxy that is set, by the name of its variable. */
  readonly proxies: readonly { readonly name: string; readonly proxy: Proxy }[]
  /** Addresses that are connected to directly, as `NO_PROXY` has them. */
  readonly direct: readonly string[]
  /**
   * The variables in both spellings, for programs that this process starts: apt reads the lower-case ones alone.
   * Secret.
   */
  readonly forPrograms: () => Readonly<Record<string, string>>
  /** One sentence per variable that has no effect; never with its value, which may hold a password. */
  readonly faults: readonly string[]
  /** One sentence per entry of `NO_PROXY` that has no effect. */
  readonly directFaults: readonly string[]
}

type Variables = Readonly<Record<string, string | undefined>>

/** Rules without any proxy. */
export const noProxies: ProxyRules = {
  of: () => null,
  proxies: [],
  direct: [],
  faults: [],
  directFaults: [],
  forPrograms: () => ({}),
}

const defaultPorts = { 'http:': 80, 'https:': 443 } as const
const names = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'] as const

/**
 * Reads the variables in both spellings; the lower-case one wins, as in curl. A name that `variables` has in either
 * spelling is not read from `file`, the `.env` of the home. Pure.
 */
export function readProxies(variables: Variables, file: Variables = {}): ProxyRules {
  const spellingsOf = (name: string): readonly (readonly [string, string])[] => {
    const both = [name, name.toUpperCase()]
    const source = both.some((spelled) => variables[spelled] !== undefined) ? variables : file
    return both.map((spelled) => [spelled, source[spelled]?.trim() ?? ''] as const)
  }
  const faults: string[] = []
  const proxies: { name: string; proxy: Proxy }[] = []
  const proxyFor = (name: string): Proxy | null => {
    for (const [spelled, value] of spellingsOf(name)) {
      if (value === '') continue
      const read = readProxy(value)
      if (typeof read === 'string') {
        faults.push(`${spelled} has no effect: ${read}`)
        return null
      }
      proxies.push({ name: spelled, proxy: read })
      return read
    }
    return null
  }
  const all = proxyFor('all_proxy')
  const byProtocol = { http: proxyFor('http_proxy') ?? all, https: proxyFor('https_proxy') ?? all }
  const [noProxy = 'no_proxy', written = ''] = spellingsOf('no_proxy').find(([, value]) => value !== '') ?? []
  const direct = readNoProxy(noProxy, written)
  return {
    proxies,
    direct: direct.entries,
    faults,
    directFaults: direct.faults,
    forPrograms: () =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = spellingsOf(name).find(([, text]) => text !== '')?.[1]
          return value === undefined ? [] : [name, name.toUpperCase()].map((spelled) => [spelled, value])
        }),
      ),
    of: (url) => {
      const isPlain = url.protocol === 'http:' || url.protocol === 'ws:'
      const proxy = isPlain ? byProtocol.http : byProtocol.https
      const host = bareHost(url.hostname)
      const port = Number(url.port) || defaultPorts[isPlain ? 'http:' : 'https:']
      if (proxy === null || isLoopback(host) || isWithin(fleets, host)) return null
      return direct.includes(host, port) ? null : proxy
    },
  }
}

function readProxy(value: string): Proxy | string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`
  if (!URL.canParse(text)) return 'its value is not an address'
  const url = new URL(text)
  const { protocol } = url
  if (protocol !== 'http:' && protocol !== 'https:') {
    return `a proxy address must begin with http:// or https://, not with ${protocol.slice(0, -1)}`
  }
  if (url.hostname === '') return 'its value is not an address'
  const port = Number(url.port) || defaultPorts[protocol]
  const host = bareHost(url.hostname)
  const authorization = authorizationOf(url)
  return {
    protocol,
    host,
    port,
    shown: `${protocol}//${url.hostname}:${port}`,
    authorization: () => authorization,
  }
}

function authorizationOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const plain = `${decoded(username)}:${decoded(password)}`
  return `Basic ${Buffer.from(plain, 'utf8').toString('base64')}`
}

/** Decodes percent escapes; returns the whole text unchanged if a percent sign starts no valid escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')
// Connections to these two addresses also reach this machine; servers such as Ollama print them as their own address.
loopback.addAddress('0.0.0.0', 'ipv4')
loopback.addAddress('::', 'ipv6')

/** The range from which the mesh takes private networks for agents and browsers. */
const fleets = new BlockList()
fleets.addSubnet('10.64.0.0', 10, 'ipv4')

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isWithin(loopback, host)
}
