import { BlockList, isIP } from 'node:net'
import { oneLine } from '@flotilla/protocol/one-line'

/** The destinations that `NO_PROXY` names: they are connected to directly. */
export interface DirectPlaces {
  /** The entries as they were written. */
  readonly entries: readonly string[]
  readonly includes: (host: string, port: number) => boolean
  /** One sentence for each entry that has no effect; without a password that it may contain. */
  readonly faults: readonly string[]
}

type Matches = (host: string, port: number) => boolean

/** The maximum number of entries of `NO_PROXY` that are used. */
const entriesMax = 1000
/** The maximum number of entries of `NO_PROXY` without effect that are reported. */
const faultsMax = 20
/** How much of an invalid entry of `NO_PROXY` a message quotes, in characters. */
const shownMaxChars = 80
const portMax = 65_535

/**
 * Reads the value of `name`, which is separated by commas or white space. An entry is one of:
 *
 * - `*`: every host;
 * - a name, which includes its subdomains, also as `.name` and `*.name`;
 * - `<local>`: every name without a dot, as on Windows;
 * - an address, in brackets or not, or a network in CIDR form;
 * - the beginning of an IPv4 address, as in `192.168.*`.
 *
 * A name or an address may have a port (`host:8080`, `[fd00::1]:8080`). Pure.
 */
export function readNoProxy(name: string, value: string): DirectPlaces {
  const written = value.split(/[\s,]+/).filter((entry) => entry !== '')
  const entries = written.slice(0, entriesMax)
  const read = entries.map((entry) => ({ entry, found: readEntry(entry) }))
  const rules = read.flatMap(({ found }) => (typeof found === 'string' ? [] : [found]))
  const faults = read.flatMap(({ entry, found }) =>
    typeof found === 'string' ? [`${name}: ${shown(entry)} has no effect: ${found}`] : [],
  )
  return {
    entries,
    includes: (host, port) => rules.some((matches) => matches(host, port)),
    faults: [
      ...faults.slice(0, faultsMax),
      ...(faults.length > faultsMax
        ? [`${name}: ${faults.length - faultsMax} more entries have no effect`]
        : []),
      ...(written.length > entriesMax ? [`${name}: only the first ${entriesMax} entries are used`] : []),
    ],
  }
}

/** Removes the brackets of an IPv6 address and the dot at the end of a full name. Pure. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
}

export function isWithin(list: BlockList, host: string): boolean {
  const family = isIP(host)
  return family !== 0 && list.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

/** Returns a function that matches hosts, or the reason why the entry has no effect. */
function readEntry(entry: string): Matches | string {
  if (entry === '*') return () => true
  if (entry.toLowerCase() === '<local>') return (host) => !host.includes('.') && isIP(host) === 0
  if (entry.includes('://')) return 'name the host alone, without https:// and without a path'
  if (entry.includes('/')) return readNetwork(entry)
  const { place, port } = splitPort(entry)
  if (port !== null && !(Number(port) >= 1 && Number(port) <= portMax)) {
    return `its port is not a number from 1 to ${portMax}`
  }
  const matches = readPlace(place)
  if (typeof matches === 'string' || port === null) return matches
  return (host, requestedPort) => requestedPort === Number(port) && matches(host, requestedPort)
}

/** Splits an entry at its port; `port` is null without one. An IPv6 address without brackets has no port. */
function splitPort(entry: string): { readonly place: string; readonly port: string | null } {
  if (isIP(bareHost(entry)) !== 0) return { place: entry, port: null }
  const [, place = entry, port = null] = /^(\[[^\]]*\]|[^:]*):(.*)$/.exec(entry) ?? []
  return { place, port }
}

function readPlace(place: string): Matches | string {
  const address = bareHost(place)
  if (isIP(address) !== 0) return addressOf(address)
  if (/^\d{1,3}(?:\.\d{1,3}){0,2}\.\*$/.test(place)) {
    const beginning = place.slice(0, -1)
    return (host) => isIP(host) === 4 && host.startsWith(beginning)
  }
  if (place.startsWith('[')) return 'it is not an IPv6 address'
  const name = address.replace(/^\*?\./, '')
  if (name === '') return 'it names no host'
  if (name.includes('*'))
    return 'write a star only before a whole name (*.example.com) or at the end of an address (10.1.*)'
  const ascii = asciiName(name)
  if (ascii === null) return 'it is not the name of a host'
  return (host) => host === ascii || host.endsWith(`.${ascii}`)
}

function readNetwork(entry: string): Matches | string {
  const [address = '', bits = '', ...more] = entry.split('/')
  const bare = bareHost(address)
  const family = isIP(bare)
  const most = family === 4 ? 32 : 128
  if (family === 0 || more.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) {
    return 'it is not a network, as in 10.0.0.0/8'
  }
  const network = new BlockList()
  network.addSubnet(bare, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  return (host) => isWithin(network, host)
}

function addressOf(address: string): Matches {
  const list = new BlockList()
  list.addAddress(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
  return (host) => isWithin(list, host)
}

/** Converts an international name to the form of URLs (punycode). Null for a text that is no name. */
function asciiName(name: string): string | null {
  if (/[<>"'@?#\\]/.test(name)) return null
  if (/^[ -~]*$/.test(name)) return name
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : null
}

/** Returns an entry for display, without the user name and the password that its address may contain. */
function shown(entry: string): string {
  return oneLine(entry.replace(/\/\/[^/@]*@/, '//').replace(/^[^/@]*@/, ''), shownMaxChars)
}
