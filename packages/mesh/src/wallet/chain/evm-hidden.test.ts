import { expect, test } from 'vitest'
import { encodeCall } from './evm-call.ts'
import { transferLog } from './evm-effects.ts'
import { simulateEvm } from './evm-simulate.ts'
import type { RpcAnswer, RpcSession } from './json-rpc.ts'

const from = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const token = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'
const friend = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'

/** A node that has only `debug_traceCall`, and a token of which the sender holds `held`. */
function tracing(held: bigint, logs: readonly object[] = []): RpcSession {
  const answers: Record<string, unknown> = {
    eth_getBlockByNumber: { number: '0x1', timestamp: '0x1', baseFeePerGas: '0x1' },
    debug_traceCall: { type: 'CALL', from, to: token, value: '0x0', output: '0x', logs },
    eth_call: `0x${held.toString(16).padStart(64, '0')}`,
  }
  const answer = async (method: string): Promise<RpcAnswer> =>
    method in answers
      ? { kind: 'result', result: answers[method] }
      : { kind: 'refused', code: -32_601, reason: 'method not found' }
  return {
    answer,
    ask: async (method, _params, schema) => schema.parse(answers[method]),
  }
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

test('a transfer without logs counts by its arguments, and a logged transfer by its logs', async () => {
  const args = [friend, '7']
  expect(await simulateEvm(tracing(900n), call('transfer(address,uint256)', args))).not.toHaveProperty(
    'unseen',
  )
  const logs = [transferLog(token, { from, to: friend, raw: 7n })]
  const simulated = await simulateEvm(tracing(900n, logs), call('sweep(address)', [friend]))
  expect(simulated).toMatchObject({ effects: { changes: [{ asset: token, raw: -7n }] } })
  expect(simulated).not.toHaveProperty('unseen')
})
