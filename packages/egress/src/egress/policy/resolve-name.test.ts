import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { gzip } from 'node:zlib'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { startNameServer } from '../../../../../tests/support/name-server.ts'
import type { NameAnswer } from '../../../../../tests/support/name-server.ts'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { isPublicAddress } from './public-addresses.ts'
import { createCheckDestination } from './check-destination.ts'
import { createResolveName } from './resolve-name.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const never = new AbortController().signal

async function aResolver(answerOf: (name: string) => NameAnswer, hosts = '', timeoutMs = 2500) {
  const server = await startNameServer(answerOf)
  onTestFinished(() => server.close())
  const resolve = createResolveName({
    readHosts: async () => hosts,
    openServers: () => {
      const servers = new Resolver({ timeout: timeoutMs, tries: 2 })
      servers.setServers([`127.0.0.1:${server.port}`])
      return servers
    },
  })
  return { resolve, server }
}

describe('a name', () => {
  test('a name has the addresses of both families', async () => {
    const { resolve } = await aResolver(() => ['93.184.216.34', '2606:2800:21f::1'])
    expect(await resolve('site.test', never)).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:2800:21f::1', family: 6 },
    ])
  })

  test('a name with one family resolves, and a name with none or a missing one fails', async () => {
    const { resolve } = await aResolver((name) =>
      name === 'four.test' ? ['1.2.3.4'] : name === 'none.test' ? [] : null,
    )
    expect(await resolve('four.test', never)).toEqual([{ address: '1.2.3.4', family: 4 }])
    await expect(resolve('none.test', never)).rejects.toThrow('no address')
    await expect(resolve('nowhere.test', never)).rejects.toThrow('no address')
  })

  test('names in the hosts file and this machine are resolved without a query', async () => {
    const hosts = '# own\n127.0.0.1 localhost\n10.1.2.3\tWiki.internal wiki # ours\nfe80::1%eth0 linked\n'
    const { resolve, server } = await aResolver(() => ['6.6.6.6'], hosts)
    expect(await resolve('wiki.internal', never)).toEqual([{ address: '10.1.2.3', family: 4 }])
    expect(await resolve('localhost', never)).toEqual([{ address: '127.0.0.1', family: 4 }])
    expect(await resolve('a.localhost', never)).toEqual([{ address: '127.0.0.1', family: 4 }])
    expect(server.asked).toEqual([])
    expect(await resolve('linked', never)).toEqual([{ address: '6.6.6.6', family: 4 }])
  })

  test('a lookup without an answer fails after its timeout, and at once when aborted', async () => {
    verifies('limits:outbound-dns-failure', 'errors:outbound:dns-failure')
    const { resolve, server } = await aResolver(() => 'dead', '', 200)
    await expect(resolve('dead.test', never)).rejects.toThrow(/ETIMEOUT|timeout/i)
    const gone = new AbortController()
    server.asked.length = 0
    const asking = resolve('dead.test', gone.signal)
    asking.catch(() => {})
    await eventually('it is asked', () => server.asked.length > 0)
    gone.abort(new Error('gone'))
    await expect(asking).rejects.toThrow(/ECANCELLED|cancel/i)
  })

  test('a name with dead servers blocks neither other lookups nor files nor compression', async () => {
    heedsLesson(118)
    const { resolve, server } = await aResolver((name) => (name.startsWith('dead') ? 'dead' : ['1.2.3.4']))
    const gone = new AbortController()
    let ended = 0
    const dead = Array.from({ length: 100 }, (_, index) =>
      resolve(`dead${index}.test`, gone.signal, `agent-${index % 4}`).finally(() => ended++),
    )
    for (const one of dead) one.catch(() => {})
    expect(await resolve('alive.test', never)).toEqual([{ address: '1.2.3.4', family: 4 }])
    await readFile('/etc/hostname').catch(() => {})
    await promisify(gzip)(Buffer.alloc(100_000))
    expect(ended).toBe(0)
    expect(server.asked.length).toBeGreaterThan(100)
    gone.abort(new Error('enough'))
    await Promise.allSettled(dead)
  })

  test('an agent gets a lookup even if others use up the rest', async () => {
    const { resolve } = await aResolver(() => 'dead')
    const gone = new AbortController()
    const { perAgentMax } = agentShareLimits.lookups
    const dead = Array.from({ length: 12 * perAgentMax }, (_, index) =>
      resolve(`d${index}.test`, gone.signal, `agent-${index % 12}`),
    )
    const late = resolve('late.test', gone.signal, 'late')
    const refused: unknown[] = []
    late.catch((error: unknown) => refused.push(error))
    for (const one of dead) one.catch(() => {})
    await new Promise((done) => setImmediate(done))
    expect(refused).toEqual([])
    gone.abort(new Error('enough'))
    await Promise.allSettled([...dead, late])
    await expect(resolve('localhost', never)).resolves.toHaveLength(1)
  })

  test('lookups of one agent leave places for others', async () => {
    const { resolve } = await aResolver((name) => (name.startsWith('dead') ? 'dead' : ['1.2.3.4']))
    const gone = new AbortController()
    const dead = Array.from({ length: agentShareLimits.lookups.perAgentMax }, (_, index) =>
      resolve(`dead${index}.test`, gone.signal, 'scout'),
    )
    for (const one of dead) one.catch(() => {})
    await new Promise((done) => setImmediate(done))
    await expect(resolve('more.test', never, 'scout')).rejects.toMatchObject({ code: 'rate-limited' })
    expect(await resolve('more.test', never, 'other')).toHaveLength(1)
    gone.abort(new Error('enough'))
    await Promise.allSettled(dead)
  })

  test('a name with changing answers leads only to checked addresses', async () => {
    heedsLesson(26)
    let answer: readonly string[] = []
    const { resolve, server } = await aResolver(() => answer)
    const check = createCheckDestination({ resolve, isAllowed: isPublicAddress })
    const address = fc.oneof(
      fc.ipV4(),
      fc.constantFrom('10.0.0.1', '127.0.0.1', '169.254.169.254', '100.64.0.1', '8.8.8.8', '1.1.1.1'),
      fc.constantFrom('::1', 'fd00::1', 'fe80::1', '2002:a00:1::', '64:ff9b::a00:1', '2606:4700::1111'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(address, { maxLength: 4 }), async (addresses) => {
        answer = addresses
        const before = server.asked.length
        const checked = await check({ host: 'rebinding.test', port: 443 }, never).catch(() => null)
        // One query for each family, and no other.
        expect(server.asked.length - before).toBe(2)
        const isOpen = addresses.length > 0 && addresses.every(isPublicAddress)
        expect(checked !== null).toBe(isOpen)
        if (checked) expect(checked.map((one) => one.address).toSorted()).toEqual(addresses.toSorted())
      }),
      { numRuns: 100 },
    )
  })
})
