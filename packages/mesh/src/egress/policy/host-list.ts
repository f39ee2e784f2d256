import { parseHostAndPort } from './destination.ts'

/**
 * Does an owner's list name this host? An entry is a host, `*.domain` for every name below a domain, or `*`. Without a
 * list every host is named. Pure.
 */
export function listNamesHost(patterns: readonly string[] | undefined, host: string): boolean {
  return patterns === undefined || patterns.some((pattern) => namesHost(pattern, host))
}

function namesHost(pattern: string, host: string): boolean {
  if (pattern === '*') return true
  if (pattern.startsWith('*.')) return host.endsWith(`.${canonical(pattern.slice(2))}`)
  return canonical(pattern) === host
}

/** In the one spelling that hosts are compared in. */
function canonical(host: string): string {
  return parseHostAndPort(`${host.includes(':') ? `[${host}]` : host}:80`)?.host ?? ''
}
