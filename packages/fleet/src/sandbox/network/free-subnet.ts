/** Finds a private IPv4 range that nothing on this machine uses yet. Pure. */

export interface Ipv4Range {
  /** First address as a number. */
  readonly first: number
  readonly last: number
}

/** Number of addresses in a /22, enough for a thousand agents. */
const subnetSize = 1024
/** First address of 10.64.0.0/10, the quarter of 10.0.0.0/8 that engines and clouds use least. */
const poolFirst = ipv4Number('10.64.0.0')
const poolSubnets = (64 * 65_536) / subnetSize

/** Returns a free subnet like `10.70.4.0/22`; null if none is free. Starts at a position derived from the home. */
export function freeSubnet(homeTag: string, used: readonly Ipv4Range[]): string | null {
  const start = Number.parseInt(homeTag, 16) % poolSubnets
  for (let step = 0; step < poolSubnets; step += 1) {
    const first = poolFirst + ((start + step) % poolSubnets) * subnetSize
    const last = first + subnetSize - 1
    if (!used.some((range) => range.first <= last && first <= range.last)) return `${ipv4Text(first)}/22`
  }
  return null
}

/** Returns the first host address of a range in CIDR notation: the gateway. */
export function gatewayOf(cidr: string): string {
  return ipv4Text(ipv4Range(cidr).first + 1)
}

/** Parses a range; throws a `RangeError` if the text is not `a.b.c.d/n`. */
export function ipv4Range(cidr: string): Ipv4Range {
  const [address = '', bits = '32'] = cidr.split('/')
  const size = 2 ** (32 - Number(bits))
  const first = Math.floor(ipv4Number(address) / size) * size
  if (!Number.isFinite(first)) throw new RangeError(`not an IPv4 range: ${cidr}`)
  return { first, last: first + size - 1 }
}

function ipv4Number(address: string): number {
  const parts = address.split('.').map(Number)
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255))
    return Number.NaN
  return parts.reduce((number, part) => number * 256 + part, 0)
}

function ipv4Text(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}
