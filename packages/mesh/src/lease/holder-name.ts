import { createHash } from 'node:crypto'
import { readFile, readlink, realpath } from 'node:fs/promises'
import { hostname } from 'node:os'

/**
 * Who holds the lease of a home: the same for all its lives at one place, and for none elsewhere. A place is a start of a
 * machine, a network within it and the path of the home, which is where the home's own lock lets one process live: what
 * comes with the same name and that lock comes after the other has ended.
 */
export async function holderName(home: string): Promise<string> {
  const place = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/net'),
    realpath(home),
  ])
  return `${hostname()}_${createHash('sha256').update(place.join('\n')).digest('hex').slice(0, 16)}`
}
