import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** Addresses that a hosts file gives a name, in the file's order. A zone is left out with its line. Pure. */
export function addressesInHosts(text: string, name: string): readonly LookupAddress[] {
  const wanted = name.toLowerCase()
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/)
    const family = address.includes('%') ? 0 : isIP(address)
    return family !== 0 && names.some((other) => other.toLowerCase() === wanted) ? [{ address, family }] : []
  })
}
