import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { findForeign, pagesMax } from './find-foreign.ts'
import type { SolanaRpc } from './solana-rpc.ts'

const me = '11111111111111111111111111111112'
const stranger = '11111111111111111111111111111113'
const since = JSON.stringify({ signature: 'known', slot: 5 })

/** An endpoint with these transactions, newest first; `byMe` are those that the address itself signed. */
function aFarEnd(all: readonly string[], byMe: readonly string[] = []) {
  const asked: string[] = []
  const options = (value: unknown) => (value ?? {}) as { limit: number; before?: string; until?: string }
  const answers: Record<string, (params: readonly unknown[]) => unknown> = {
    getSignaturesForAddress: ([, given]) => {
      const { limit, before, until } = options(given)
      const end = until === undefined || !all.includes(until) ? all.length : all.indexOf(until)
      const start = before === undefined ? 0 : all.indexOf(before) + 1
      return all
        .slice(start, end)
        .slice(0, limit)
        .map((signature) => ({ signature, slot: 6 }))
    },
    getTransaction: ([signature]) => ({
      meta: null,
      transaction: {
        message: {
          accountKeys: [byMe.includes(String(signature)) ? me : stranger, me],
          header: { numRequiredSignatures: 1 },
        },
      },
    }),
  }
  const rpc: SolanaRpc = {
    ask: async (method, params, schema) => {
      asked.push(method)
      return schema.parse(answers[method]?.(params))
    },
    failed: (detail) => new Problem('upstream-failed', { detail }),
  }
  return { rpc, asked }
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`)
const isOwn = (id: string) => id !== 's2500'

describe('what the key of an address signed', () => {
  test('a foreign signature is found on the third page', async () => {
    const { rpc } = aFarEnd([...numbered(2600), 'known'], ['s2500'])
    expect(await findForeign(rpc, me, { since, isOwn })).toMatchObject({ foreign: 's2500' })
  })

  test('foreign signatures are unknown where the pages exceed the limit', async () => {
    const { rpc, asked } = aFarEnd(numbered(1000 * pagesMax + 1))
    await expect(findForeign(rpc, me, { since, isOwn: () => true })).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: expect.stringContaining('more than 10000 transactions since the last check'),
    })
    expect(asked).toHaveLength(pagesMax)
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
