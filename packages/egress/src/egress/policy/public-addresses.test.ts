import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import {
  createAddressFilter,
  createRangeCheck,
  isLoopback,
  isOwnGround,
  isPublicAddress,
} from './public-addresses.ts'

/** Returns the addresses that the filter allows. */
const letThrough = (...addresses: readonly string[]) => addresses.filter((one) => isPublicAddress(one))

describe('the address filter refuses, from its first address to its last,', () => {
  test('the filter refuses RFC 1918 from the first to the last address', () => {
    verifies('limits:outbound-rfc1918')
    expect(letThrough('10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255')).toEqual([])
    expect(letThrough('192.168.0.0', '192.168.255.255')).toEqual([])
  })

  test('loopback', () => {
    verifies('limits:outbound-loopback')
    expect(letThrough('127.0.0.0', '127.0.0.1', '127.255.255.255', '::1')).toEqual([])
  })

  test('link-local', () => {
    verifies('limits:outbound-link-local')
    expect(letThrough('169.254.0.0', '169.254.255.255', 'fe80::', 'febf:ffff::ffff')).toEqual([])
  })

  test('100.64.0.0/10', () => {
    verifies('limits:outbound-cgnat')
    expect(letThrough('100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0')).toEqual([
      '100.63.255.255',
      '100.128.0.0',
    ])
  })

  test('2002::/16', () => {
    verifies('limits:outbound-6to4')
    const last = '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
    expect(letThrough('2001:ffff::1', '2002::', '2002:808:808::8', last, '2003::')).toEqual([
      '2001:ffff::1',
      '2003::',
    ])
  })

  test('Teredo', () => {
    verifies('limits:outbound-teredo')
    expect(letThrough('2001::', '2001:0:808:808::1', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff')).toEqual([])
  })

  test('the filter refuses IPv4-mapped IPv6 for every IPv4 address', () => {
    verifies('limits:outbound-ipv4-mapped')
    expect(letThrough('::ffff:0.0.0.0', '::ffff:8.8.8.8', '::ffff:0808:0808', '::ffff:ffff:ffff')).toEqual([])
  })
})

describe('the address filter', () => {
  test.each([
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '127.0.0.1',
    '127.255.0.9',
    '169.254.169.254',
    '100.64.0.1',
    '100.127.255.255',
    '0.0.0.0',
    '0.1.2.3',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '198.19.255.1',
    '198.51.100.1',
    '203.0.113.9',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '100.100.100.200',
    '192.88.99.1',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:0:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '2001::1',
    '2001:0:1::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2001:db8::1',
    '2001:20::1',
    'fe80::1',
    'fec0::1',
    '161.26.0.10',
    '166.9.0.1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '2606:4700::5efe:10.0.0.1',
    '2606:4700::200:5efe:8.8.8.8',
    '2606:4700:0:0:0:5efe:808:808',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '100::1',
    '3fff::1',
    '5f00::1',
    '4000::1',
    'fe80::1%eth0',
    '2606:4700::1%1',
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '2130706433',
    '1.2.3',
    '1.2.3.4.5',
    '::g',
  ])('the address filter refuses %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '192.167.255.255',
    '169.253.1.1',
    '11.0.0.1',
    '223.255.255.255',
    '198.17.0.1',
    '198.20.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2400:cb00::1',
  ])('the filter allows %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test('the filter refuses IPv4 addresses in every IPv6 notation', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const hex = address
          .split('.')
          .map((part) => Number(part).toString(16).padStart(2, '0'))
          .join('')
          .replace(/(.{4})/, '$1:')
        for (const dressed of [
          `::ffff:${address}`,
          `::${address}`,
          `64:ff9b::${address}`,
          `2002:${hex}::1`,
          `::ffff:0:${address}`,
        ]) {
          expect(isPublicAddress(dressed)).toBe(false)
        }
      }),
    )
  })

  test('the filter refuses the addresses that the mesh names as its own', () => {
    const isAllowed = createAddressFilter([
      { address: '8.8.8.0', prefix: 24 },
      { address: '2606:4700::', prefix: 32 },
    ])
    expect(['8.8.8.8', '8.8.9.8', '2606:4700::1', '2606:4701::1', '10.0.0.1'].map(isAllowed)).toEqual([
      false,
      true,
      false,
      true,
      false,
    ])
  })
})

describe('addresses that an owner can open', () => {
  test('an owner can open private networks and this machine, to their last address', () => {
    for (const address of [
      '10.0.0.0',
      '10.255.255.255',
      '100.64.0.1',
      '127.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.255.255',
      '::1',
      'fc00::1',
      'fdff::1',
    ])
      expect([address, isOwnGround(address)]).toEqual([address, true])
  })

  test('an owner cannot open cloud metadata, even at private addresses', () => {
    const metadata = ['100.100.100.200', 'fd00:ec2::254', 'fd00:ec2:ffff::1', 'fd00:42::42', 'fd20:ce::254']
    expect(metadata.filter(isOwnGround)).toEqual([])
    expect(
      ['100.100.100.201', 'fd00:ec3::254', 'fd00:42::43', 'fd20:ce::253'].filter(isOwnGround),
    ).toHaveLength(4)
  })

  test.each([
    '8.8.8.8',
    '172.32.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '192.0.2.1',
    '224.0.0.1',
    '::',
    '::2',
    '::ffff:10.0.0.1',
    '2606:4700::1',
    'fe80::1',
    'fd12::1%eth0',
    '',
    'localhost',
    '10.1',
  ])('an owner cannot open %j', (address) => {
    expect(isOwnGround(address)).toBe(false)
  })

  test('only loopback addresses belong to this machine', () => {
    expect(['127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'].filter(isLoopback)).toHaveLength(4)
    expect(['128.0.0.1', '126.255.255.255', '::2', '10.0.0.1', 'localhost', ''].filter(isLoopback)).toEqual(
      [],
    )
  })
})

describe('membership in ranges', () => {
  test('ranges match both families, and text that is not an address matches none', () => {
    const isIn = createRangeCheck([
      { address: '10.70.0.0', prefix: 24 },
      { address: 'fd70::', prefix: 64 },
    ])
    expect(['10.70.0.0', '10.70.0.255', 'fd70::', 'fd70::ffff:ffff:ffff:ffff'].filter(isIn)).toHaveLength(4)
    expect(['10.70.1.0', '10.69.255.255', 'fd70:0:0:1::', 'fd71::', '', 'agent'].filter(isIn)).toEqual([])
    // An IPv4 address does not match an IPv6 range with the same bits, nor the other way round.
    expect(['::ffff:10.70.0.1', '::10.70.0.1'].filter(isIn)).toEqual([])
  })
})

describe('an address that hides an IPv4 one behind any prefix', () => {
  test.each([
    '2606:4700::5efe:10.0.0.1',
    '2606:4700::200:5efe:8.8.8.8',
    '2606:4700:0:0:0:5efe::',
    '2606::5efe:0:1',
    '2606:1:2:3:0:5efe:a00:1',
    '2606:1:2:3:200:5efe:a00:1',
  ])('an address with an embedded IPv4 address is refused: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each([
    '2606:1:2:3:1:5efe:a00:1',
    '2606:1:2:3:0:5eff:a00:1',
    '2606:1:2:3:5efe:0:a00:1',
    '2606:1:2:0:5efe::1',
    '2606:4700::5efe',
    '2606:4700::5efe:1',
    '2606:4700::1:2:3:5efe',
  ])('an address with the mark in another position is allowed: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})
