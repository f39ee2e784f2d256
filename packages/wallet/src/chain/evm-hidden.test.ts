import { expect, test } from 'vitest'
import { encodeCall } from './evm-call.ts'
import { transferLog } from './evm-effects.ts'
import { simulateEvm } from './evm-simulate.ts'
import type { RpcAnswer, RpcSession } from './json-rpc.ts'

const from = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const token = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'
const friend = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'

const place = `0x${'5'.repeat(64)}`
const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`

/**
 * Simulates a node that has only `debug_traceCall`, with tokens of which the sender holds `held` each. Given `after`,
 * the node also traces storage, and the sender has that much of each token afterwards.
 */
function tracing(
  held: bigint,
  logs: readonly object[] = [],
  { calls = [], after }: { readonly calls?: readonly object[]; readonly after?: bigint } = {},
): RpcSession {
  const block = { number: '0x1', timestamp: '0x1', baseFeePerGas: '0x1' }
  const frame = { type: 'CALL', from, to: token, value: '0x0', output: '0x', logs, calls }
  const account = { storage: { [place]: word(1n) } }
  const left = { [token]: { stateDiff: { [place]: word(0n) } } }
  const missing: RpcAnswer = { kind: 'refused', code: -32_601, reason: 'method not found' }
  const answer = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
    if (method === 'debug_traceCall') {
      if (!JSON.stringify(params).includes('prestateTracer')) return { kind: 'result', result: frame }
      // Like geth, the node leaves a slot that is zero afterwards out of `post`.
      return after === undefined
        ? missing
        : { kind: 'result', result: { pre: { [token]: account }, post: { [token]: {} } } }
    }
    if (method !== 'eth_call') return missing
    // An address without code.
    if ((params[0] as { to: string }).to === friend) return { kind: 'result', result: '0x' }
    const isAfter = params[2] !== undefined
    if (isAfter) expect(params[2]).toEqual(left)
    return { kind: 'result', result: word(isAfter ? (after ?? held) : held) }
  }
  return { answer, ask: async (_method, _params, schema) => schema.parse(block) }
}

const call = (name: string, args: readonly unknown[]) => ({
  from,
  to: token,
  data: encodeCall({ function: name, args }).data,
  value: 0n,
})

test('with only a trace, a token without logs counts with the whole balance and is named', async () => {
  expect(await simulateEvm(tracing(900n), call('sweep(address)', [friend]))).toMatchObject({
    kind: 'moves',
    effects: { changes: [{ asset: token, raw: -900n }] },
    unseen: [token],
  })
})

test('a call that writes no log is named even if the sender holds nothing', async () => {
  const simulated = await simulateEvm(tracing(0n), call('ping()', []))
  expect(simulated).toMatchObject({ effects: { changes: [] }, unseen: [token] })
})

test('with only a trace of calls, a transfer counts with the whole balance, whatever its arguments and logs say', async () => {
  for (const logs of [[], [transferLog(token, { from, to: friend, raw: 7n })]]) {
    expect(
      await simulateEvm(tracing(900n, logs), call('transfer(address,uint256)', [friend, '7'])),
    ).toMatchObject({ effects: { changes: [{ asset: token, raw: -900n }] }, unseen: [token] })
  }
})

test('with a trace of storage, balances before and after the call decide', async () => {
  const logs = [transferLog(token, { from, to: friend, raw: 7n })]
  for (const [after, raw] of [
    [893n, -7n],
    [890n, -10n],
    [0n, -900n],
  ] as const) {
    const simulated = await simulateEvm(tracing(900n, logs, { after }), call('sweep(address)', [friend]))
    expect(simulated).toMatchObject({ effects: { changes: [{ asset: token, raw }] } })
    expect(simulated).not.toHaveProperty('unseen')
  }
})

const coin = '0x9965507d1a55bcc2695c58ba16fb37d814a0a4ad'
const deeper = (to: string, more: object = {}) => ({
  type: 'CALL',
  from: token,
  to,
  input: '0x23b872dd',
  ...more,
})

test('a token without logs counts in full also where another contract calls it, whatever others log', async () => {
  const noise = { address: token, topics: [`0x${'1'.repeat(64)}`], data: '0x' }
  const inner = { type: 'DELEGATECALL', from: token, to: friend, input: '0x12345678', calls: [deeper(coin)] }
  expect(await simulateEvm(tracing(900n, [noise], { calls: [inner] }), call('route()', []))).toMatchObject({
    effects: { changes: expect.arrayContaining([{ asset: coin, raw: -900n }]) as unknown },
    unseen: expect.arrayContaining([coin]) as unknown,
  })
})

test('a token that logs something else than a transfer counts in full', async () => {
  const noise = { address: token, topics: [`0x${'1'.repeat(64)}`], data: '0x' }
  expect(await simulateEvm(tracing(900n, [noise]), call('sweep(address)', [friend]))).toMatchObject({
    effects: { changes: [{ asset: token, raw: -900n }] },
  })
})

test('reads, reverted calls and payments of the coin move no token, and too many contracts are not assessed', async () => {
  const transfer = transferLog(token, { from, to: friend, raw: 7n })
  const harmless = [
    deeper(coin, { type: 'STATICCALL' }),
    // A call below a static one can write nothing either, whatever its own type.
    deeper(friend, { type: 'STATICCALL', calls: [deeper(coin)] }),
    deeper(coin, { error: 'reverted' }),
    deeper(coin, { input: '0x' }),
  ]
  expect(
    await simulateEvm(
      tracing(900n, [transfer], { calls: harmless, after: 893n }),
      call('sweep(address)', [friend]),
    ),
  ).toMatchObject({
    effects: { changes: [{ asset: token, raw: -7n }] },
  })
  const many = Array.from({ length: 30 }, (_, at) => deeper(`0x${(at + 16).toString(16).padStart(40, '1')}`))
  expect(
    await simulateEvm(tracing(0n, [transfer], { calls: many }), call('sweep(address)', [friend])),
  ).toMatchObject({
    kind: 'unknown',
  })
})
