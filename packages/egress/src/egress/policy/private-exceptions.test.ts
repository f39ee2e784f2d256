import { describe, expect, test } from 'vitest'
import { createCheckDestination } from './check-destination.ts'
import { isPublicAddress } from './public-addresses.ts'
import { parseHostAndPort, textOf } from './destination.ts'
import { createPrivateExceptions } from './private-exceptions.ts'

/** This machine is 192.168.1.10, with a mesh on 8420 and 8421; agents are in 10.70.0.x. */
function aFilter(entries: readonly string[], names: Readonly<Record<string, readonly string[]>> = {}) {
  const used: string[] = []
  const check = createCheckDestination({
    resolve: async (name) =>
      (names[name] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    isAllowed: isPublicAddress,
    exceptions: createPrivateExceptions({
      entries: () => entries,
      isOwnAddress: (address) => address === '192.168.1.10',
      isFleetAddress: (address) => address.startsWith('10.70.0.'),
      guardedPorts: () => [8420, 8421],
    }),
    onException: (destination, address) => used.push(`${textOf(destination)} ${address}`),
  })
  const ask = async (text: string): Promise<string> => {
    const destination = parseHostAndPort(text)
    if (destination === null) return 'unreadable'
    return check(destination, new AbortController().signal).then(
      (addresses) => addresses.map(({ address }) => address).join(' '),
      (error: unknown) => String((error as { code?: string }).code),
    )
  }
  return { ask, used }
}

describe('an exception of the owner', () => {
  test('an exception opens one private place by its exact host and port, and is reported', async () => {
    const { ask, used } = aFilter(['192.168.1.20:8080', 'Wiki.Internal.:443', '[fd12::1]:443'], {
      'wiki.internal': ['10.1.2.3'],
      'other.internal': ['10.1.2.3'],
    })
    expect(await ask('192.168.1.20:8080')).toBe('192.168.1.20')
    expect(await ask('0xc0a80114:8080')).toBe('192.168.1.20')
    expect(await ask('wiki.internal:443')).toBe('10.1.2.3')
    expect(await ask('[fd12:0::1]:443')).toBe('fd12::1')
    expect(used).toEqual([
      '192.168.1.20:8080 192.168.1.20',
      '192.168.1.20:8080 192.168.1.20',
      'wiki.internal:443 10.1.2.3',
      '[fd12::1]:443 fd12::1',
    ])
    for (const other of ['192.168.1.20:8081', '192.168.1.21:8080'])
      expect([other, await ask(other)]).toEqual([other, 'port-refused'])
    for (const other of ['192.168.1.20:80', 'wiki.internal:80', 'other.internal:443'])
      expect([other, await ask(other)]).toEqual([other, 'address-refused'])
    expect(used).toHaveLength(4)
  })

  test.each([
    ['the people’s API on loopback', '127.0.0.1:8420'],
    ['the people’s API, spelled in IPv6', '[::1]:8420'],
    ['the forward proxy', '127.0.0.1:8421'],
    ['an API at an interface of this machine', '192.168.1.10:8420'],
    ['an API by a name', 'mesh.internal:8420'],
    ['the engine over TCP', '127.0.0.1:2375'],
    ['an agent', '10.70.0.3:8400'],
    ['cloud metadata', '169.254.169.254:80'],
    ['cloud metadata on a private address', '100.100.100.200:80'],
    ['cloud metadata over IPv6', '[fd00:ec2::254]:80'],
    ['link-local', '[fe80::1]:80'],
    ['no address at all', '0.0.0.0:80'],
    ['an IPv4 address in IPv6 clothes', '[::ffff:192.168.1.20]:80'],
    ['NAT64', '[64:ff9b::c0a8:114]:80'],
    ['multicast', '224.0.0.1:80'],
  ])('an exception never opens %s', async (_, entry) => {
    const { ask, used } = aFilter([entry], { 'mesh.internal': ['127.0.0.1'] })
    expect(await ask(entry)).toBe('address-refused')
    expect(used).toEqual([])
  })

  test("an exception can open the mesh's port numbers on another machine", async () => {
    const { ask } = aFilter(['192.168.1.20:8420', '192.168.1.20:2375'])
    expect(await ask('192.168.1.20:8420')).toBe('192.168.1.20')
    expect(await ask('192.168.1.20:2375')).toBe('192.168.1.20')
  })

  test('an invalid exception opens nothing and closes nothing', async () => {
    const { ask } = aFilter(['no entry', '192.168.1.20', '192.168.1.20:8080'])
    expect(await ask('192.168.1.20:8080')).toBe('192.168.1.20')
    expect(await ask('192.168.1.21:8080')).toBe('port-refused')
  })

  test('an exception can open another program of this machine', async () => {
    const { ask } = aFilter(['localhost:3000', '192.168.1.10:3000'], { localhost: ['127.0.0.1'] })
    expect(await ask('localhost:3000')).toBe('127.0.0.1')
    expect(await ask('192.168.1.10:3000')).toBe('192.168.1.10')
  })

  test('an exception is refused if one address of the name cannot be opened', async () => {
    const { ask } = aFilter(['wiki.internal:80'], { 'wiki.internal': ['10.1.2.3', '169.254.169.254'] })
    expect(await ask('wiki.internal:80')).toBe('address-refused')
  })
})
