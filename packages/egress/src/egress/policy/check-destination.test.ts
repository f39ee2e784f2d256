import type { LookupAddress } from 'node:dns'
import { getEventListeners } from 'node:events'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { createCheckDestination, pinnedLookup } from './check-destination.ts'
import type { CheckDestinationDeps } from './check-destination.ts'

const publicAddress = '93.184.216.34'
const closedAddress = '10.0.0.7'
const v4 = (address: string): LookupAddress => ({ address, family: 4 })

/** A filter for which one address is public; names have the given addresses. */
function aFilter(more: Partial<CheckDestinationDeps> = {}, names: Readonly<Record<string, string[]>> = {}) {
  const requests: string[] = []
  const check = createCheckDestination({
    resolve: async (name) => {
      requests.push(name)
      const found = names[name]
      if (!found) throw new Error(`ENOTFOUND ${name}`)
      return found.map(v4)
    },
    isAllowed: (address) => address === publicAddress || address === '2606:2800::1',
    ...more,
  })
  return {
    asked: requests,
    check: (host: string, port = 443, signal = new AbortController().signal) => check({ host, port }, signal),
  }
}

describe('the outbound filter', () => {
  test('the filter returns the checked addresses after one lookup', async () => {
    const { check, asked } = aFilter({}, { 'a.example': [publicAddress, publicAddress] })
    expect(await check('a.example')).toEqual([v4(publicAddress), v4(publicAddress)])
    expect(asked).toEqual(['a.example'])
  })

  test('the filter makes no lookup for an address', async () => {
    const { check, asked } = aFilter()
    expect(await check(publicAddress)).toEqual([v4(publicAddress)])
    expect(await check('2606:2800::1')).toEqual([{ address: '2606:2800::1', family: 6 }])
    await expect(check(closedAddress)).rejects.toMatchObject({ code: 'address-refused' })
    expect(asked).toEqual([])
  })

  test('the filter refuses a name with one private address, without naming the address', async () => {
    const { check } = aFilter({}, { 'a.example': [publicAddress, closedAddress] })
    const refusal = await check('a.example').catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'address-refused', detail: expect.stringContaining('a.example') })
    expect(JSON.stringify(refusal)).not.toContain(closedAddress)
  })

  test('the filter refuses a name without address and an unknown name', async () => {
    const { check } = aFilter({}, { 'empty.example': [] })
    for (const host of ['empty.example', 'unknown.example']) {
      await expect(check(host)).rejects.toMatchObject({
        code: 'name-unresolved',
        detail: expect.stringContaining(host),
      })
    }
  })

  test('a problem of the lookup is passed on unchanged', async () => {
    const { check } = aFilter({
      resolve: async () => {
        throw new Problem('rate-limited')
      },
    })
    await expect(check('a.example')).rejects.toMatchObject({ code: 'rate-limited' })
  })

  test('the filter allows ports 80 and 443, or the ports in the settings', async () => {
    for (const port of [80, 443]) await expect(aFilter().check(publicAddress, port)).resolves.toHaveLength(1)
    await expect(aFilter().check(publicAddress, 22)).rejects.toMatchObject({
      code: 'port-refused',
      detail: expect.stringContaining('80, 443'),
    })
    const { check } = aFilter({ allowedPorts: [22] })
    await expect(check(publicAddress, 22)).resolves.toHaveLength(1)
    await expect(check(publicAddress, 443)).rejects.toMatchObject({ code: 'port-refused' })
  })

  test("the filter refuses a host outside the owner's list before its name is resolved", async () => {
    const { check, asked } = aFilter({ isHostAllowed: (host) => host === publicAddress })
    await expect(check('a.example', 22)).rejects.toMatchObject({
      code: 'destination-refused',
      detail: expect.stringContaining('a.example'),
    })
    expect(asked).toEqual([])
    await expect(check(publicAddress)).resolves.toHaveLength(1)
  })

  test('a lookup is abandoned when its signal aborts, before and during it', async () => {
    const reason = new Error('the run has ended')
    const { check, asked } = aFilter({}, { 'a.example': [publicAddress] })
    await expect(check('a.example', 443, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(asked).toEqual([])
    const begun = Promise.withResolvers<void>()
    const slow = aFilter({
      resolve: () => {
        begun.resolve()
        return new Promise(() => {})
      },
    })
    const run = new AbortController()
    const checking = slow.check('a.example', 443, run.signal)
    await begun.promise
    run.abort(reason)
    await expect(checking).rejects.toBe(reason)
  })

  test('an aborted lookup fails with the reason of the run, whatever the lookup reports', async () => {
    const reason = new Error('the run has ended')
    const run = new AbortController()
    const { check } = aFilter({
      resolve: async () => {
        run.abort(reason)
        throw new Error('ECANCELLED')
      },
    })
    await expect(check('a.example', 443, run.signal)).rejects.toBe(reason)
  })

  test('many lookups of a run leave no listeners on its signal', async () => {
    const run = new AbortController()
    const { check } = aFilter({}, { 'a.example': [publicAddress] })
    await check('a.example', 443, run.signal)
    await expect(check('unknown.example', 443, run.signal)).rejects.toMatchObject({ code: 'name-unresolved' })
    expect(getEventListeners(run.signal, 'abort')).toEqual([])
  })
})

describe('a place that the owner opened', () => {
  function opened(opens: readonly string[], names: Readonly<Record<string, string[]>> = {}) {
    const notified: string[] = []
    const { check } = aFilter(
      {
        exceptions: {
          covers: ({ host, port }) => host === 'nas.lan' && port === 5000,
          opens: (address, port) => opens.includes(`${address}:${port}`),
        },
        onException: ({ host }, address) => void notified.push(`${host} ${address}`),
      },
      { 'nas.lan': [closedAddress], ...names },
    )
    return { check, told: notified }
  }

  test('an opened place is allowed by its exact host and port, and its use is reported', async () => {
    const { check, told } = opened([`${closedAddress}:5000`, `${closedAddress}:443`], {
      'other.lan': [closedAddress],
    })
    expect(await check('nas.lan', 5000)).toEqual([v4(closedAddress)])
    expect(told).toEqual([`nas.lan ${closedAddress}`])
    await expect(check('nas.lan', 443)).rejects.toMatchObject({ code: 'address-refused' })
    await expect(check('other.lan', 443)).rejects.toMatchObject({ code: 'address-refused' })
    await expect(check('other.lan', 5000)).rejects.toMatchObject({ code: 'port-refused' })
    expect(told).toHaveLength(1)
  })

  test('an opened place stays closed if any of its addresses cannot be opened', async () => {
    for (const names of [
      { 'nas.lan': ['169.254.169.254'] },
      { 'nas.lan': [closedAddress, '169.254.169.254'] },
    ]) {
      const { check, told } = opened([`${closedAddress}:5000`], names)
      await expect(check('nas.lan', 5000)).rejects.toMatchObject({
        code: 'address-refused',
        detail: expect.stringContaining('nas.lan:5000'),
      })
      expect(told).toEqual([])
    }
  })

  test('an opened place is allowed without a listener for its use', async () => {
    const { check } = aFilter({ exceptions: { covers: () => true, opens: () => true } })
    expect(await check(closedAddress)).toEqual([v4(closedAddress)])
  })

  test('an opened place with public addresses is not reported', async () => {
    const { check, told } = opened([], { 'nas.lan': [publicAddress] })
    expect(await check('nas.lan', 5000)).toEqual([v4(publicAddress)])
    expect(told).toEqual([])
  })
})

describe('a connection', () => {
  test('a connection gets the checked addresses, whatever name it resolves', () => {
    const given: unknown[] = []
    const lookup = pinnedLookup([v4(publicAddress), v4('93.184.216.35')])
    lookup('evil.example', { all: true }, (...answer) => given.push(answer))
    lookup('evil.example', {}, (...answer) => given.push(answer))
    pinnedLookup([])('evil.example', {}, (...answer) => given.push(answer))
    expect(given).toEqual([
      [null, [v4(publicAddress), v4('93.184.216.35')]],
      [null, publicAddress, 4],
      [null, '', 0],
    ])
  })
})
