import type { Settings } from '@flotilla/foundation/config'
import { listNamesHost } from '../egress/index.ts'

type Lists = Pick<Settings['egress'], 'inspected_hosts' | 'tunnel_hosts'>

/**
 * Whether the mesh terminates TLS for a host: of the entries of both lists that name it, the most specific decides. A
 * host comes before `*.domain`, and a longer domain before a shorter one. An equal entry in both lists keeps a tunnel.
 * Pure.
 */
export function isInspected(host: string, { inspected_hosts: hosts, tunnel_hosts: tunnels }: Lists): boolean {
  return specificityOf(hosts, host) > specificityOf(tunnels, host)
}

/** How exactly a list names a host; 0 if it does not. */
function specificityOf(patterns: readonly string[], host: string): number {
  return patterns.reduce((most, pattern) => {
    if (!listNamesHost([pattern], host)) return most
    return Math.max(most, pattern.startsWith('*.') ? pattern.replace(/\.$/, '').length : Infinity)
  }, 0)
}
