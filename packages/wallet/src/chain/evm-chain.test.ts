import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import type { PinnedFetch, PinnedRequest } from '../../../egress/src/egress/fetch/pinned-fetch.ts'
import { createEvmChain } from './evm-chain.ts'

const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const never = new AbortController().signal

interface Answered {
  readonly status?: number
  /** The response body; a function receives the id of the request. */
  readonly body: string | ((id: number) => string)
}

/** Answers one request after the other, and records the requests. */
function aChain(...answers: readonly Answered[]) {
  const requests: PinnedRequest[] = []
  const closed: number[] = []
  const fetch: PinnedFetch = async (request) => {
    const { status = 200, body } = answers[requests.length] ?? { body: '' }
    requests.push(request)
    const text = typeof body === 'string' ? body : body((JSON.parse(request.body) as { id: number }).id)
    return {
      status,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text)
      })(),
      close: async () => void closed.push(requests.length),
    }
  }
  const chain = createEvmChain({
    name: 'base',
    rpc: () => new URL('https://rpc.example/v2/the-key-of-the-owner'),
    fetch,
    clock: createManualClock(),
  })
  const methods = () => requests.map(({ body }) => (JSON.parse(body) as { method: string }).method)
  return { chain, asked: requests, closed, methods }
}

const result = (value: unknown) => (id: number) => JSON.stringify({ jsonrpc: '2.0', id, result: value })
const base = { body: result('0x2105') }

describe('a chain of the EVM', () => {
  test('every call first asks an EVM endpoint which chain it serves', async () => {
    const { chain, methods, asked, closed } = aChain(base, { body: result('0xde0b6b3a7640001') }, base, {
      body: result('0x0'),
    })
    expect(await chain.balances([address], never)).toEqual([1_000_000_000_000_000_001n])
    expect(await chain.balances([address], never)).toEqual([0n])
    expect(methods()).toEqual(['eth_chainId', 'eth_getBalance', 'eth_chainId', 'eth_getBalance'])
    expect(JSON.parse(asked[1]?.body ?? '')).toMatchObject({ params: [address, 'latest'] })
    expect(closed).toEqual([1, 2, 3, 4])
  })

  test('an endpoint of another chain gets no further request', async () => {
    const { chain, methods } = aChain({ body: result('0x1') }, { body: result('0x5') })
    await expect(chain.balances([address], never)).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: 'the RPC endpoint of base failed: the endpoint serves chain 1, not 8453',
    })
    expect(methods()).toEqual(['eth_chainId'])
  })

  test.each<readonly [string, Answered, RegExp]>([
    [
      'refuses',
      { body: (id) => JSON.stringify({ id, error: { code: -32_005, message: 'slow\ndown\u202e' } }) },
      /rejected the call: slow down \(-32005\)/,
    ],
    ['is not there', { status: 404, body: 'no such page' }, /rpc\.example answered 404/],
    ['leads elsewhere', { status: 302, body: '' }, /rpc\.example answered 302/],
    ['speaks no JSON', { body: '<html>' }, /the answer is not JSON-RPC/],
    ['answers a question of before', { body: JSON.stringify({ id: 7, result: '0x1' }) }, /another id/],
    ['answers a list', { body: '[]' }, /the answer is not JSON-RPC/],
    ['answers nothing', { body: (id) => JSON.stringify({ id }) }, /an unknown form/],
    ['answers a number', { body: result(5) }, /an unknown form/],
    ['answers a negative', { body: result('-0x5') }, /an unknown form/],
    ['answers with zeros before', { body: result('0x05') }, /an unknown form/],
    ['answers without digits', { body: result('0x') }, /an unknown form/],
    ['answers more than 256 bits', { body: result(`0x1${'0'.repeat(64)}`) }, /an unknown form/],
    ['answers without end', { body: `"${'a'.repeat(1_100_000)}"` }, /more than 1048576 bytes/],
    ['nests', { body: '['.repeat(5000) }, /the answer is not JSON-RPC/],
  ])('an answer that is %s is rejected', async (_what, answer, words) => {
    for (const answers of [[answer], [base, answer]] as const) {
      const { chain, closed, asked } = aChain(...answers)
      const problem: unknown = await chain.balances([address], never).catch((error: unknown) => error)
      expect(problem).toMatchObject({ code: 'upstream-failed', detail: expect.stringMatching(words) })
      expect(JSON.stringify(problem)).not.toContain('the-key-of-the-owner')
      // The connection is closed whatever was received.
      expect(closed).toHaveLength(asked.length)
    }
  })

  test('the largest possible amount is accepted', async () => {
    const { chain } = aChain(base, { body: result(`0x${'f'.repeat(64)}`) })
    expect(await chain.balances([address], never)).toEqual([2n ** 256n - 1n])
  })

  test('a silent endpoint is awaited for ten seconds', async () => {
    const clock = createManualClock()
    const chain = createEvmChain({
      name: 'base',
      rpc: () => new URL('https://rpc.example/'),
      clock,
      fetch: (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
          void clock.advance(10_000)
        }),
    })
    await expect(chain.balances([address], never)).rejects.toMatchObject({ code: 'upstream-timeout' })
  })
})
