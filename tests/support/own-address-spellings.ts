import { hostname, networkInterfaces } from 'node:os'

/**
 * Every spelling of the addresses of this machine that some parser accepts in the authority of a URL. For addresses
 * for which `isSpelt` is false, only the usual spelling.
 */
export function ownAddressSpellings(
  names: readonly string[],
  isSpelt: (address: string) => boolean = () => true,
): readonly string[] {
  const fours = new Set(['127.0.0.1', '127.0.0.53', '127.255.255.254', '0.0.0.0', ...ownAddresses('IPv4')])
  const sixes = new Set(['::1', '::', ...ownAddresses('IPv6')])
  return [
    ...[...fours].flatMap((address) => (isSpelt(address) ? spellingsOfFour(address) : [address])),
    ...[...sixes].map((address) => `[${address}]`),
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0177.1',
    '0',
    '0x0',
    '00',
    '255.255.255.255',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
    '[::1%25lo]',
    '[fe80::1%25lo]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost.localdomain',
    'x.localhost',
    'ip6-localhost',
    'ip6-loopback',
    hostname(),
    ...names,
    ...names.map((name) => `${name}.`),
    ...names.map((name) => name.toUpperCase()),
  ]
}

/** Spellings that only the URL parser accepts. */
export const urlSpellings: readonly string[] = [
  '127。0。0。1',
  '１２７.０.０.１',
  '%31%32%37.0.0.1',
  '①②⑦.0.0.1',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  '127.0.0.1\t',
  'user@127.0.0.1',
  'user:word@127.0.0.1',
  'example.com@127.0.0.1',
]

export function ownAddresses(family: 'IPv4' | 'IPv6'): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).filter((one) => one.family === family).map(({ address }) => address),
  )
}

function spellingsOfFour(address: string): string[] {
  const parts = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = parts
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = (value: number) => value.toString(16).padStart(2, '0')
  const [high, low] = [hex(a) + hex(b), hex(c) + hex(d)]
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0X${whole.toString(16).toUpperCase()}`,
    `0${whole.toString(8)}`,
    parts.map((part) => `0x${part.toString(16)}`).join('.'),
    parts.map((part) => `0${part.toString(8)}`).join('.'),
    parts.map((part) => `000${part.toString(8)}`).join('.'),
    `${a}.${b * 65_536 + c * 256 + d}`,
    `${a}.0x${b.toString(16)}.${c * 256 + d}`,
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${high}:${low}::]`,
    `[2001:0:${high}:${low}::${low}]`,
    `[2606:4700::5efe:${high}:${low}]`,
    `[fe80::200:5efe:${high}:${low}]`,
  ]
}
