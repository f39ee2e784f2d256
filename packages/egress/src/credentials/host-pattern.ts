/**
 * A destination for a credential, as its owner writes it: `api.example.org`, `*.example.org:8443`,
 * `http://nas.lan:5000`.
 */
export interface HostPattern {
  readonly scheme: 'https' | 'http'
  /** The host in lower case; for a pattern with a star, the part after the star. */
  readonly host: string
  /** True if the pattern matches names below the host, at any depth, and not the host itself. */
  readonly below: boolean
  readonly port: number
}

const standardPorts = { https: 443, http: 80 } as const
const form = /^(?:(https|http):\/\/)?(\*\.)?([^*/\\@?#%\s]+?)\/?$/i

/** Parses a host pattern; null if it is invalid. A star matches names below a domain of at least two labels. Pure. */
export function parseHostPattern(text: string): HostPattern | null {
  const [, scheme = 'https', star, authority = ''] = form.exec(text) ?? []
  const address = `${scheme}://${authority}`
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  const host = hostOf(url)
  if (host === '' || (star !== undefined && !/[a-z0-9]\.[a-z0-9-]*[a-z]/.test(host))) return null
  return {
    scheme: url.protocol === 'http:' ? 'http' : 'https',
    host,
    below: star !== undefined,
    port: portOf(url),
  }
}

/** True if `url` matches the pattern: same scheme, same port, and the host. Pure. */
export function hostMatches(pattern: HostPattern, url: URL): boolean {
  if (url.protocol !== `${pattern.scheme}:` || portOf(url) !== pattern.port) return false
  const host = hostOf(url)
  return pattern.below ? host.endsWith(`.${pattern.host}`) : host === pattern.host
}

/** Returns the origin for pages and requests; null for a wildcard pattern, which has many. Pure. */
export function originOf({ scheme, host, below, port }: HostPattern): string | null {
  return below ? null : new URL(`${scheme}://${host}:${port}`).origin
}

/** Returns a pattern in the owner's notation that matches this address. Pure. */
export function patternFor(url: URL): string {
  return url.protocol === 'http:' ? url.origin : url.host
}

/** Returns the scheme, host and port that a pattern covers, for people. Pure. */
export function coverageOf({ scheme, host, below, port }: HostPattern): string {
  const { host: authority } = new URL(`${scheme}://${host}:${port}`)
  return `${scheme}://${below ? '*.' : ''}${authority}`
}

/** Returns the host of a URL without the trailing dot of a fully qualified name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, '')
}

function portOf(url: URL): number {
  return url.port === '' ? standardPorts[url.protocol === 'http:' ? 'http' : 'https'] : Number(url.port)
}
