import { describe, expect, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createClosedNetworks } from './closed-networks.ts'

describe('the networks of this machine', () => {
  test('networks of this machine are closed even with public addresses, and nothing is open before they are known', async () => {
    let engine = [{ address: '93.184.216.0', prefix: 24, own: false }]
    let interfaces = [{ address: '1.2.3.4', prefix: 32 }]
    const networks = createClosedNetworks({
      networks: async () => engine,
      interfaces: () => interfaces,
      clock: systemClock,
      log: silentLog,
    })
    expect(networks.isAllowed('8.8.8.8')).toBe(false)
    expect(networks.isFleetAddress('10.70.0.3')).toBe(true)
    await networks.refresh()
    expect(networks.isAllowed('8.8.8.8')).toBe(true)
    expect(networks.isAllowed('93.184.216.34')).toBe(false)
    expect(networks.isAllowed('1.2.3.4')).toBe(false)
    expect(networks.isOwnAddress('1.2.3.4')).toBe(true)
    expect(networks.isFleetAddress('10.70.0.3')).toBe(false)

    engine = [
      { address: '10.70.0.0', prefix: 22, own: true },
      { address: '2606:4700::', prefix: 64, own: false },
    ]
    interfaces = []
    await networks.refresh()
    expect(networks.isAllowed('93.184.216.34')).toBe(true)
    expect(networks.isAllowed('1.2.3.4')).toBe(true)
    expect(networks.isAllowed('2606:4700::1111')).toBe(false)
    expect(networks.isFleetAddress('10.70.3.3')).toBe(true)
  })
})
