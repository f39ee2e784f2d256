import { createHash } from 'node:crypto'
import { readFile, readlink, realpath } from 'node:fs/promises'
import { hostname } from 'node:os'

/**
 * The holder name of a home's lease: the same for all its processes at one place, and different everywhere else. A
 * place is a boot of a machine, a network namespace and the path of the home, for which the home's own lock admits
 * one process. A process with the same name and that lock therefore starts after the other has ended.
 */
export async function holderName(home: string): Promise<string> {
  const place = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/net'),
    realpath(home),
  ])
  return `${hostname()}_${createHash('sha256').update(place.join('\n')).digest('hex').slice(0, 16)}`
}
