import { describe, expect, it } from 'vitest'
import { freeSubnet, gatewayOf, ipv4Range } from './free-subnet.ts'
import { routeRanges } from './private-network.ts'

describe('freeSubnet', () => {
  it('freeSubnet gives a home the same place again and others another', () => {
    expect(freeSubnet('abcdef01', [])).toBe(freeSubnet('abcdef01', []))
    expect(freeSubnet('abcdef01', [])).not.toBe(freeSubnet('abcdef02', []))
  })

  it('freeSubnet skips subnets that overlap a used range', () => {
    const first = freeSubnet('00000000', []) ?? ''
    expect(first).toBe('10.64.0.0/22')
    expect(freeSubnet('00000000', [ipv4Range('10.64.0.0/16')])).toBe('10.65.0.0/22')
    expect(freeSubnet('00000000', [ipv4Range('10.64.3.255')])).toBe('10.64.4.0/22')
  })

  it('freeSubnet wraps around at the end of the pool', () => {
    const last = (4095).toString(16)
    expect(freeSubnet(last, [])).toBe('10.127.252.0/22')
    expect(freeSubnet(last, [ipv4Range('10.127.252.0/22')])).toBe('10.64.0.0/22')
  })

  it('freeSubnet is null when nothing is free', () => {
    expect(freeSubnet('00000000', [ipv4Range('10.0.0.0/8')])).toBeNull()
  })
})

describe('ranges', () => {
  it('the gateway is the first host address', () => {
    expect(gatewayOf('10.70.4.0/22')).toBe('10.70.4.1')
  })

  it('the reader of ranges rejects an invalid range', () => {
    expect(() => ipv4Range('300.1.1.1/8')).toThrow(RangeError)
    expect(() => ipv4Range('fd00::/8')).toThrow(RangeError)
  })

  it('routes are read from the kernel, the default route aside', () => {
    const table = [
      'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t0000400A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
      '',
    ].join('\n')
    expect(routeRanges(table)).toEqual([ipv4Range('10.64.0.0/16')])
  })
})
