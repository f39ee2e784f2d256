import { BlockList, isIP } from 'node:net'

/**
 * Decides which addresses are public. Private, local and reserved addresses are not, nor are IPv6 notations of IPv4
 * addresses: those are refused without decoding, because no honest server needs them. Pure.
 */

const ipv4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network (RFC 791)
  ['10.0.0.0', 8], // private (RFC 1918)
  ['100.64.0.0', 10], // carrier-grade NAT (RFC 6598)
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata of most clouds
  ['161.26.0.0', 16], // IBM's services for its own machines, on addresses that look public
  ['166.8.0.0', 14], // the same
  ['168.63.129.16', 32], // Azure's platform
  ['172.16.0.0', 12], // private (RFC 1918)
  ['192.0.0.0', 24], // protocol assignments, and Oracle's metadata
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private (RFC 1918)
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['100.100.100.200', 32], // Alibaba's metadata, inside the range above as well
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
]

const ipv6: readonly (readonly [string, number])[] = [
  ['::', 96], // unspecified, loopback, IPv4-compatible
  ['::ffff:0:0', 96], // IPv4-mapped
  ['::ffff:0:0:0', 96], // IPv4-translated (RFC 2765)
  ['64:ff9b::', 96], // NAT64
  ['64:ff9b:1::', 48], // local NAT64
  ['100::', 64], // discard
  ['100:0:0:1::', 64], // dummy (RFC 9780)
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
  ['5f00::', 16], // segment routing
  ['fc00::', 7], // unique local, and EC2's metadata
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local
  ['ff00::', 8], // multicast
]

export interface AddressRange {
  readonly address: string
  readonly prefix: number
}

type Family = 'ipv4' | 'ipv6'

// One list per family, because a combined list also compares an IPv4 address in its mapped form.
const notPublic = { ipv4: blockList(ipv4, 'ipv4'), ipv6: blockList(ipv6, 'ipv6') }

/** Only addresses in this range have been assigned to the public. */
const globalUnicast = blockList([['2000::', 3]], 'ipv6')

/** Ranges that an owner can open by name: private networks and loopback. */
const ownGround = {
  ipv4: blockList(
    [
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['127.0.0.0', 8],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
    ],
    'ipv4',
  ),
  ipv6: blockList(
    [
      ['::1', 128],
      ['fc00::', 7],
    ],
    'ipv6',
  ),
}

/** Addresses within the ranges of `ownGround` at which clouds serve metadata and secrets. */
const metadata = {
  ipv4: blockList([['100.100.100.200', 32]], 'ipv4'),
  ipv6: blockList(
    [
      ['fd00:ec2::', 32],
      ['fd00:42::42', 128],
      ['fd20:ce::254', 128],
    ],
    'ipv6',
  ),
}

const loopback = { ipv4: blockList([['127.0.0.0', 8]], 'ipv4'), ipv6: blockList([['::1', 128]], 'ipv6') }

/** True for an address of a private network or of this machine, which an owner's exception can open. Pure. */
export function isOwnGround(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const family = familyOf(address)
  return ownGround[family].check(address, family) && !metadata[family].check(address, family)
}

export function isLoopback(address: string): boolean {
  const family = familyOf(address)
  return isIP(address) !== 0 && loopback[family].check(address, family)
}

/** True for an address of the public internet; false for all others and for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic.ipv4.check(address, 'ipv4')
    case 6:
      // A zone, as in fe80::1%eth0, is valid only on one link.
      return (
        !address.includes('%') &&
        globalUnicast.check(address, 'ipv6') &&
        !isIsatap(address) &&
        !notPublic.ipv6.check(address, 'ipv6')
      )
    default:
      return false
  }
}

/** Returns whether an IPv6 address embeds an IPv4 address by the ISATAP marks 0000:5efe and 0200:5efe (RFC 5214). */
function isIsatap(address: string): boolean {
  const [, , , , mark, id] = groupsOf(address)
  return id === 0x5efe && (mark === 0 || mark === 0x0200)
}

/** Returns the eight groups of an IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  // The URL parser normalizes every notation to hexadecimal groups with at most one gap.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const numbers = (part: string) =>
    part === '' ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))
  const after = tail === undefined ? [] : numbers(tail)
  const before = numbers(head)
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

/** Allows public addresses except further ranges: the mesh's own interfaces and the engine's networks. */
export function createAddressFilter(refused: readonly AddressRange[]): (address: string) => boolean {
  const isRefused = createRangeCheck(refused)
  return (address) => isPublicAddress(address) && !isRefused(address)
}

/** Tests membership in ranges of both families; text that is not an address is in none. */
export function createRangeCheck(ranges: readonly AddressRange[]): (address: string) => boolean {
  const lists = { ipv4: ownList(ranges, 'ipv4'), ipv6: ownList(ranges, 'ipv6') }
  return (address) => isIP(address) !== 0 && lists[familyOf(address)].check(address, familyOf(address))
}

function ownList(refused: readonly AddressRange[], family: Family): BlockList {
  const ofFamily = refused.filter(({ address }) => familyOf(address) === family)
  return blockList(
    ofFamily.map(({ address, prefix }) => [address, prefix] as const),
    family,
  )
}

function familyOf(address: string): Family {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

function blockList(ranges: readonly (readonly [string, number])[], family: Family): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
