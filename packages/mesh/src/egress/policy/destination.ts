/** A host, in the one spelling that is compared and connected to, and a port. */
export interface Destination {
  /** A name in small letters without the dot at its end, or an address without brackets. */
  readonly host: string
  readonly port: number
}

const nameMaxChars = 253

/**
 * Reads `host:port` as CONNECT and the settings write it; null for anything else. The port is never guessed. Every
 * spelling of an IPv4 address (decimal, octal, hexadecimal, short) becomes the dotted one. Pure.
 */
export function parseHostAndPort(text: string): Destination | null {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\d{1,5})$/i.exec(text)
  const port = Number(parts?.[2])
  if (!parts?.[1] || port < 1 || port > 65_535 || !URL.canParse(`http://${parts[1]}/`)) return null
  const host = hostOf(new URL(`http://${parts[1]}/`))
  return host === null ? null : { host, port }
}

/** Where a URL of http or https leads; null for another scheme, and for a host that no name can be. Pure. */
export function destinationOf(url: URL): Destination | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  const host = hostOf(url)
  if (host === null) return null
  return { host, port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port) }
}

/** As it is written where ports are told. */
export function textOf({ host, port }: Destination): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function hostOf(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host.length > nameMaxChars) return null
  if (host.includes(':')) return host
  return host.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? host : null
}
