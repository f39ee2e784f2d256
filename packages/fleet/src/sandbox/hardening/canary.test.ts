import { describe, expect, it } from 'vitest'
import { localAddresses, openCanary, reaches } from './canary.ts'

describe('localAddresses', () => {
  it('localAddresses takes the host addresses of the routing trie once, loopback and networks aside', () => {
    const trie = [
      'Main:',
      '  +-- 0.0.0.0/0 3 0 5',
      '     |-- 172.17.0.0',
      '        /16 link UNICAST',
      'Local:',
      '        |-- 127.0.0.1',
      '           /32 host LOCAL',
      '        |-- 172.17.0.1',
      '           /32 host LOCAL',
      '        |-- 172.17.255.255',
      '           /32 link BROADCAST',
      '        |-- 172.17.0.1',
      '           /32 host LOCAL',
    ].join('\n')
    expect(localAddresses(trie)).toEqual(['172.17.0.1'])
  })
})

describe('the canary', () => {
  it('the canary is reached from the host while it is open, and not after', async () => {
    const canary = await openCanary()
    expect(await reaches('127.0.0.1', canary.port)).toBe(true)
    await canary.close()
    expect(await reaches('127.0.0.1', canary.port)).toBe(false)
  })
})
