import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { findForeign, pagesMax } from './find-foreign.ts'
import type { SolanaRpc } from './solana-rpc.ts'

const me = '11111111111111111111111111111112'
const stranger = '11111111111111111111111111111113'
const since = JSON.stringify({ signature: 'known', slot: 5 })

/**
 * The address signs the transactions `byMe`; `keeps` is how many of the newest an endpoint with pruned history
 * has.
 */
interface FarEnd {
  all: readonly string[]
  readonly byMe?: readonly string[]
  slotOf?: (signature: string) => number
  keeps?: number
  /** Answers this many `getTransaction` requests, then fails. */
  answers?: number
}

/** An endpoint with these transactions, newest first. */
function anEndpoint(chain: FarEnd) {
  const requests: string[] = []
  const options = (value: unknown) => (value ?? {}) as { limit: number; before?: string; until?: string }
  const methods: Record<string, (params: readonly unknown[]) => unknown> = {
    getSignaturesForAddress: ([, given]) => {
      const { limit, before, until } = options(given)
      const kept = chain.all.slice(0, chain.keeps)
      // As the reference node: an unknown `before` lists nothing, an unknown `until` lists to the first one.
      if (before !== undefined && !kept.includes(before)) return []
      const end = until === undefined || !kept.includes(until) ? kept.length : kept.indexOf(until)
      const start = before === undefined ? 0 : kept.indexOf(before) + 1
      return kept
        .slice(start, end)
        .slice(0, limit)
        .map((signature) => ({ signature, slot: chain.slotOf?.(signature) ?? 6 }))
    },
    getTransaction: ([signature]) => {
      if (chain.answers !== undefined && chain.answers-- <= 0) throw new Error('429')
      return {
        meta: null,
        transaction: {
          message: {
            accountKeys: [chain.byMe?.includes(String(signature)) ? me : stranger, me],
            header: { numRequiredSignatures: 1 },
          },
        },
      }
    },
  }
  const rpc: SolanaRpc = {
    ask: async (method, params, schema) => {
      requests.push(method)
      return schema.parse(methods[method]?.(params))
    },
    failed: (detail) => new Problem('upstream-failed', { detail }),
  }
  return { rpc, asked: requests }
}

const aFarEnd = (all: readonly string[], byMe: readonly string[] = []) => anEndpoint({ all, byMe })

/** Calls until a call leaves nothing unchecked or finds a foreign signature. */
async function checkedFully(rpc: SolanaRpc, isForeign = true) {
  let calls = 0
  for (let seen = since; ;) {
    calls += 1
    if (calls > 1000) throw new Error('the check does not end')
    const found = await findForeign(rpc, me, { since: seen, isOwn: () => !isForeign })
    if (found.foreign !== null || found.unchecked === undefined) return { ...found, calls }
    expect(found.seen).not.toBe(seen)
    seen = found.seen
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`)
const isOwn = (id: string) => id !== 's2500'

describe('what the key of an address signed', () => {
  test('a foreign signature is found on the third page', async () => {
    const { rpc } = aFarEnd([...numbered(2600), 'known'], ['s2500'])
    expect(await findForeign(rpc, me, { since, isOwn })).toMatchObject({ foreign: 's2500' })
  })

  test('a call reads a bounded number of pages, and the next one continues there', async () => {
    const all = [...numbered(1000 * pagesMax * 2 + 1), 'known']
    const { rpc, asked } = aFarEnd(all)
    const first = await findForeign(rpc, me, { since, isOwn: () => true })
    expect(first).toMatchObject({ foreign: null, unchecked: 1 })
    expect(asked).toHaveLength(pagesMax)
    expect(await checkedFully(rpc, false)).toMatchObject({
      calls: 3,
      foreign: null,
      seen: JSON.stringify({ signature: 's0', slot: 6 }),
    })
  })

  test('a call that ends at the last entry of its last page is continued', async () => {
    const { rpc } = aFarEnd([...numbered(1000 * pagesMax), 'known'])
    expect(await checkedFully(rpc, false)).toMatchObject({ calls: 2, foreign: null })
  })

  test('ten thousand transfers of strangers are checked in steps of 25, and a signature below them is found', async () => {
    const all = [...numbered(10_010), 'known']
    const { rpc, asked } = aFarEnd(all)
    expect(await checkedFully(rpc)).toMatchObject({ calls: 401, foreign: null })
    expect(asked.filter((method) => method === 'getTransaction')).toHaveLength(10_010)
    expect(await checkedFully(aFarEnd(all, ['s10009']).rpc)).toMatchObject({ calls: 401, foreign: 's10009' })
  })

  test('what arrives while a check is unfinished is checked before it ends', async () => {
    const chain = { all: [...numbered(30), 'known'], byMe: ['late'] }
    const { rpc } = anEndpoint(chain)
    const first = await findForeign(rpc, me, { since, isOwn: () => false })
    expect(first).toMatchObject({ foreign: null, unchecked: 5 })
    chain.all = ['later', 'late', ...chain.all]
    expect(await findForeign(rpc, me, { since: first.seen, isOwn: () => false })).toMatchObject({
      foreign: 'late',
    })
  })

  test('a call that an endpoint ends early keeps its progress, and one without progress rejects', async () => {
    const chain = { all: [...numbered(12), 'known'], byMe: ['s11'], answers: 10 }
    const { rpc, asked } = anEndpoint(chain)
    const first = await findForeign(rpc, me, { since, isOwn: () => false })
    expect(first).toMatchObject({ foreign: null, unchecked: 1 })
    await expect(findForeign(rpc, me, { since: first.seen, isOwn: () => false })).rejects.toThrow('429')
    chain.answers = 2
    expect(await findForeign(rpc, me, { since: first.seen, isOwn: () => false })).toMatchObject({
      foreign: 's11',
    })
    expect(asked.filter((method) => method === 'getTransaction')).toHaveLength(14)
  })

  test('at an endpoint that does not have the last checked signature, the check ends at its slot', async () => {
    const isNew = (id: string) => Number(id.slice(1)) < 30
    const all = numbered(2500)
    const { rpc, asked } = anEndpoint({
      all,
      byMe: all.filter((id) => !isNew(id)),
      slotOf: (id) => (isNew(id) ? 6 : 4),
    })
    expect(await findForeign(rpc, me, { since, isOwn: isNew })).toEqual({
      foreign: null,
      seen: JSON.stringify({ signature: 's0', slot: 6 }),
    })
    expect(asked).toEqual(['getSignaturesForAddress'])
  })

  test('a check starts again at an endpoint that does not have the signature where it would continue', async () => {
    const chain: FarEnd = { all: [...numbered(60), 'known'], byMe: ['s29'] }
    const { rpc } = anEndpoint(chain)
    const first = await findForeign(rpc, me, { since, isOwn: () => false })
    chain.keeps = 10
    const second = await findForeign(rpc, me, { since: first.seen, isOwn: () => false })
    expect(second).toEqual({ foreign: null, seen: since, unchecked: 1 })
    chain.keeps = 61
    const third = await findForeign(rpc, me, { since: second.seen, isOwn: () => false })
    expect(await findForeign(rpc, me, { since: third.seen, isOwn: () => false })).toMatchObject({
      foreign: 's29',
    })
  })

  test('the first check trusts existing signatures and reads only the newest', async () => {
    const { rpc, asked } = aFarEnd(numbered(2600))
    expect(await findForeign(rpc, me, { since: null, isOwn })).toEqual({
      foreign: null,
      seen: JSON.stringify({ signature: 's0', slot: 6 }),
    })
    expect(asked).toHaveLength(1)
    expect(await findForeign(aFarEnd([]).rpc, me, { since: null, isOwn })).toEqual({
      foreign: null,
      seen: JSON.stringify({ signature: null, slot: 0 }),
    })
  })

  test('a check reports how many transactions remain for later calls', async () => {
    const { rpc } = aFarEnd([...numbered(30), 'known'])
    const first = await findForeign(rpc, me, { since, isOwn: () => false })
    expect(first).toMatchObject({ foreign: null, unchecked: 5 })
    expect(await findForeign(rpc, me, { since: first.seen, isOwn: () => false })).not.toHaveProperty(
      'unchecked',
    )
  })
})
