import { parseHostAndPort } from './destination.ts'

/**
 * True if an owner's list contains this host. An entry is a host, `*.domain` for all names below a domain, or `*`.
 * Without a list every host is allowed. Pure.
 */
export function listNamesHost(patterns: readonly string[] | undefined, host: string): boolean {
  return patterns === undefined || patterns.some((pattern) => namesHost(pattern, host))
}

function namesHost(pattern: string, host: string): boolean {
  if (pattern === '*') return true
  if (pattern.startsWith('*.')) return host.endsWith(`.${canonical(pattern.slice(2))}`)
  return canonical(pattern) === host
}

/** Returns the normalized form in which hosts are compared. */
function canonical(host: string): string {
  return parseHostAndPort(`${host.includes(':') ? `[${host}]` : host}:80`)?.host ?? ''
}
