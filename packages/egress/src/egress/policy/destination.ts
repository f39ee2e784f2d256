/** A host in its normalized form, and a port. */
export interface Destination {
  /** A lower-case name without the final dot, or an address without brackets. */
  readonly host: string
  readonly port: number
}

/** The maximum length of a host name, as DNS limits it, in characters. */
const nameMaxChars = 253

/**
 * Parses `host:port` as in CONNECT and in settings; null for anything else. The port is required. Every notation of
 * an IPv4 address (decimal, octal, hexadecimal, short) becomes the dotted one. Pure.
 */
export function parseHostAndPort(text: string): Destination | null {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\d{1,5})$/i.exec(text)
  const port = Number(parts?.[2])
  if (!parts?.[1] || port < 1 || port > 65_535 || !URL.canParse(`http://${parts[1]}/`)) return null
  const host = hostOf(new URL(`http://${parts[1]}/`))
  return host === null ? null : { host, port }
}

/** Returns the destination of an http or https URL; null for another scheme or an invalid host. Pure. */
export function destinationOf(url: URL): Destination | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  const host = hostOf(url)
  if (host === null) return null
  return { host, port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port) }
}

/** Formats a destination as `host:port`. */
export function textOf({ host, port }: Destination): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function hostOf(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host.length > nameMaxChars) return null
  if (host.includes(':')) return host
  return host.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? host : null
}
