import * as z from 'zod'
import { encodeCall, revertReason } from './evm-call.ts'
import { coinLogger, effectsOf, gainersIn, transferLog } from './evm-effects.ts'
import type { EvmLog } from './evm-effects.ts'
import { addressesIn, distinct, tokensOf, worst } from './evm-measured.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { sameEvmAddress } from './evm-address.ts'
import { plainLine, quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import type { Effects, Simulation } from './paying-chain.ts'

/**
 * The maximum number of tokens whose balances are queried, and of addresses in a call. A call with
 * more of either is not assessed.
 */
const tokensMax = 24
const namedMax = 24
/** The selector of `approve(address,uint256)`, for nodes where only logs show the allowances that a call grants. */
const approveSelector = '0x095ea7b3'
/**
 * Token functions whose arguments state the amount: `transfer`, `transferFrom`, `approve`, `increaseAllowance`.
 */
const amountSelectors = ['0xa9059cbb', '0x23b872dd', approveSelector, '0x39509351']
const traceDepthMax = 64
/**
 * The simulated time is this long after the newest block, in seconds. Nodes reject a simulated time
 * that is not after a block that arrived since.
 */
const aheadSeconds = 15n
/** JSON-RPC code for a missing method; some nodes use another code and say so in the message. */
const noMethod = -32_601

const bytes = z.string().regex(/^0x(?:[0-9a-fA-F]{2})*$/)
export const logSchema = z.looseObject({
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  topics: z.array(z.string().regex(/^0x[0-9a-fA-F]{64}$/)).max(4),
  data: bytes,
})
const simulatedSchema = z
  .array(
    z.looseObject({
      calls: z.array(
        z.looseObject({
          status: quantitySchema,
          returnData: bytes,
          logs: z.array(logSchema).max(5000).default([]),
          error: z.looseObject({ message: z.string(), data: bytes.optional() }).nullish(),
        }),
      ),
    }),
  )
  .length(1)

interface Frame {
  readonly type?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly value?: bigint | undefined
  readonly error?: string | null | undefined
  readonly input?: string | undefined
  readonly output?: string | undefined
  readonly logs?: readonly EvmLog[] | undefined
  readonly calls?: readonly Frame[] | undefined
}
const addressSchema = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const frameSchema: z.ZodType<Frame> = z.looseObject({
  type: z.string().optional(),
  from: addressSchema.optional(),
  to: addressSchema.optional(),
  value: quantitySchema.optional(),
  error: z.string().nullish(),
  input: bytes.optional(),
  output: bytes.optional(),
  logs: z.array(logSchema).max(5000).optional(),
  get calls() {
    return z.array(frameSchema).max(5000).optional()
  },
})

/**
 * Returns the effects of a call in the newest block. Uses `eth_simulateV1` where the endpoint has
 * it, which also gives token balances before and after; otherwise `debug_traceCall`, which gives
 * only logs; otherwise the effects are unknown.
 */
export async function simulateEvm(session: RpcSession, call: EvmCallRequest): Promise<Simulation> {
  const first = await simulateCalls(session, [wire(call)])
  if (first.kind === 'none') return traceCall(session, call, first.reason)
  const [done] = first.calls
  if (done === undefined) return { kind: 'unknown', reason: 'the simulation contains no call' }
  if (done.status !== 1n)
    return { kind: 'fails', reason: reasonOf(done.error?.data ?? done.returnData, done.error?.message) }
  const seen = effectsOf(call.from, { logs: done.logs, sentRaw: call.value })
  const [tokens, named] = [tokensOf(call, seen), addressesIn(call)]
  if (tokens.length > tokensMax)
    return { kind: 'unknown', reason: `the call uses more than ${tokensMax} tokens` }
  if (named.length > namedMax)
    return { kind: 'unknown', reason: `the call names more than ${namedMax} addresses` }
  const told = await measured(session, call, { seen, tokens: distinct([...tokens, ...named]), named })
  return told.kind === 'moves' ? { ...told, others: othersOf(call, told.effects, done.logs) } : told
}

/** Returns addresses that a call names or that gain from it, without its payees, spenders and the tokens involved. */
function othersOf(call: EvmCallRequest, effects: Effects, logs: readonly EvmLog[]): readonly string[] {
  const told = [
    call.to,
    ...effects.payees,
    ...effects.grants.flatMap(({ asset, spender }) => [asset, spender]),
    ...effects.changes.flatMap(({ asset, raw }) => (asset !== null && raw < 0n ? [asset] : [])),
  ]
  return distinct([...addressesIn(call), ...gainersIn(call.from, logs)]).filter(
    (one) => !told.some((other) => sameEvmAddress(one, other)),
  )
}

/**
 * Queries each token before and after the call, and the allowances of the called token for each address in the
 * call. This detects tokens that write no logs or take more than they log.
 */
async function measured(
  session: RpcSession,
  call: EvmCallRequest,
  {
    seen,
    tokens,
    named,
  }: { readonly seen: Effects; readonly tokens: readonly string[]; readonly named: readonly string[] },
): Promise<Simulation> {
  if (tokens.length === 0) return { kind: 'moves', effects: seen }
  const asks = [
    ...tokens.map((to) => ({ to, ...dataOf('balanceOf(address)', [call.from]) })),
    ...named.map((one) => ({ to: call.to, ...dataOf('allowance(address,address)', [call.from, one]) })),
  ]
  const both = await simulateCalls(session, [...asks, wire(call), ...asks])
  if (both.kind === 'none') return { kind: 'unknown', reason: both.reason }
  if (both.calls.length !== 2 * asks.length + 1) {
    return { kind: 'unknown', reason: 'the simulation contains another number of calls than requested' }
  }
  // Returns the number that a simulated call returned; null means that the contract is not a fungible token.
  const told = (at: number): bigint | null => {
    const answer = both.calls[at]
    return answer?.status === 1n && answer.returnData.length === 66 ? BigInt(answer.returnData) : null
  }
  const pairs = asks.map((_, at) => ({ before: told(at), after: told(asks.length + 1 + at) }))
  return {
    kind: 'moves',
    effects: worst(seen, {
      held: new Map(tokens.map((token, at) => [token, pairs[at]])),
      allowed: new Map(named.map((one, at) => [one, pairs[tokens.length + at]])),
      token: call.to.toLowerCase(),
    }),
  }
}

function dataOf(name: string, args: readonly string[]): { readonly data: string } {
  return { data: encodeCall({ function: name, args }).data }
}

async function simulateCalls(session: RpcSession, calls: readonly object[]) {
  const block = await session.ask('eth_getBlockByNumber', ['latest', false], feeBlockSchema)
  // Some nodes would simulate with no base fee and in 1970, which lets a contract detect the simulation.
  const blockOverrides = {
    ...(block.baseFeePerGas === undefined ? {} : { baseFeePerGas: hex(block.baseFeePerGas) }),
    time: hex(block.timestamp + aheadSeconds),
  }
  const answer = await session.answer('eth_simulateV1', [
    { blockStateCalls: [{ blockOverrides, calls }], validation: false, traceTransfers: true },
    'latest',
  ])
  if (answer.kind === 'refused')
    return { kind: 'none', reason: answer.reason, isMissing: answer.code === noMethod } as const
  const read = simulatedSchema.safeParse(answer.result)
  if (!read.success)
    return { kind: 'none', reason: 'the simulation has an unknown form', isMissing: false } as const
  return { kind: 'done', calls: read.data[0]?.calls ?? [] } as const
}

export const feeBlockSchema = z.looseObject({
  number: quantitySchema,
  timestamp: quantitySchema,
  baseFeePerGas: quantitySchema.optional(),
})

async function traceCall(session: RpcSession, call: EvmCallRequest, before: string): Promise<Simulation> {
  const answer = await session.answer('debug_traceCall', [
    wire(call),
    'latest',
    { tracer: 'callTracer', tracerConfig: { withLog: true } },
  ])
  if (answer.kind === 'refused') {
    return {
      kind: 'unknown',
      reason: `the endpoint supports neither eth_simulateV1 (${before}) nor debug_traceCall (${answer.reason})`,
    }
  }
  const frame = frameSchema.safeParse(answer.result)
  if (!frame.success) return { kind: 'unknown', reason: 'the trace has an unknown form' }
  if (frame.data.error != null)
    return { kind: 'fails', reason: reasonOf(frame.data.output ?? '0x', frame.data.error) }
  const logs = logsOf(frame.data, 0)
  if (logs === null)
    return { kind: 'unknown', reason: `the call is nested deeper than ${traceDepthMax} levels` }
  const effects = effectsOf(call.from, { logs, sentRaw: call.value })
  if (letsTakeInSilence(call, effects))
    return { kind: 'unknown', reason: 'a token does not report its allowances' }
  const asked = distinct([...(call.data === '0x' ? [] : [call.to]), ...calledIn(frame.data)])
  const silent = asked.filter((one) => !tellsOf(one, effects) && !isOrdered(call, one))
  if (silent.length > tokensMax)
    return { kind: 'unknown', reason: `the call uses more than ${tokensMax} contracts` }
  const hidden = await hiddenBy(session, call, { silent, logs })
  return {
    kind: 'moves',
    effects: { ...effects, changes: [...effects.changes, ...hidden.changes] },
    others: othersOf(call, effects, logs),
    ...(hidden.unseen.length > 0 ? { unseen: hidden.unseen } : {}),
  }
}

/**
 * Returns tokens whose effects a trace hides, because a trace shows only logs. Each called contract without
 * a logged change counts with the sender's whole balance, if the contract is a token that the sender holds.
 */
async function hiddenBy(
  session: RpcSession,
  { from, to, data }: EvmCallRequest,
  { silent, logs }: { readonly silent: readonly string[]; readonly logs: readonly EvmLog[] },
): Promise<{ readonly unseen: readonly string[]; readonly changes: Effects['changes'] }> {
  const held = await Promise.all(
    silent.map(async (token) => {
      const ask = { to: token, ...dataOf('balanceOf(address)', [from]) }
      const said = await session.answer('eth_call', [ask, 'latest'])
      const word = said.kind === 'result' ? bytes.safeParse(said.result) : null
      return { token, raw: word?.success && word.data.length === 66 ? BigInt(word.data) : 0n }
    }),
  )
  const counted = held.filter(({ raw }) => raw > 0n)
  const isMute = data !== '0x' && logs.length === 0 && silent.some((one) => sameEvmAddress(one, to))
  return {
    unseen: distinct([...(isMute ? [to] : []), ...counted.map(({ token }) => token)]),
    changes: counted.map(({ token, raw }) => ({ asset: token, raw: -raw })),
  }
}

/** True if the logs show what this token moves or allows. */
function tellsOf(token: string, { changes, grants }: Effects): boolean {
  return [...changes, ...grants].some(({ asset }) => asset !== null && sameEvmAddress(asset, token))
}

/** True if the call uses a function of the token whose arguments state the amount; `orderedAmounts` counts it. */
function isOrdered({ to, data }: EvmCallRequest, token: string): boolean {
  return sameEvmAddress(to, token) && amountSelectors.includes(data.slice(0, 10))
}

/** Returns contracts that may write their own storage in a trace: called with data, not read-only, not reverted. */
function calledIn({ calls = [] }: Frame): readonly string[] {
  return calls.flatMap((inner) => {
    if (inner.error != null || inner.type === 'STATICCALL') return []
    const writes = inner.type === 'CALL' && inner.to !== undefined && inner.input !== '0x'
    return [...(writes && inner.to !== undefined ? [inner.to] : []), ...calledIn(inner)]
  })
}

/**
 * True if no log shows the allowance of an `approve`: some tokens write none, and a trace cannot query allowances.
 */
function letsTakeInSilence({ data }: EvmCallRequest, { grants }: Effects): boolean {
  if (!data.startsWith(approveSelector)) return false
  const isNothing = /^0*$/.test(data.slice(10 + 64, 10 + 128))
  return (
    !isNothing && !grants.some(({ spender }) => sameEvmAddress(spender, `0x${data.slice(10 + 24, 10 + 64)}`))
  )
}

/** Returns the logs of a call and its inner calls, without reverted calls; null if they are nested too deeply. */
function logsOf(frame: Frame, depth: number): readonly EvmLog[] | null {
  if (depth > traceDepthMax) return null
  const logs: EvmLog[] = [...coinsOf(frame), ...(frame.logs ?? [])]
  for (const inner of frame.calls ?? []) {
    if (inner.error != null) continue
    const deeper = logsOf(inner, depth + 1)
    if (deeper === null) return null
    logs.push(...deeper)
  }
  return logs
}

/** Returns coin transfers as a simulation logs them. A delegate call only repeats the value of its enclosing call. */
function coinsOf({ type, from, to, value = 0n }: Frame): readonly EvmLog[] {
  const hands = type !== 'DELEGATECALL' && type !== 'CALLCODE' && type !== 'STATICCALL'
  if (!hands || value === 0n || from === undefined || to === undefined) return []
  return [transferLog(coinLogger, { from, to, raw: value })]
}

function reasonOf(data: string, message: string | undefined): string {
  return data.length > 2 || message === undefined ? revertReason(data) : plainLine(message)
}

function wire({ from, to, data, value }: EvmCallRequest) {
  return { from, to, data, value: hex(value) }
}

export function hex(value: bigint | number): string {
  return `0x${value.toString(16)}`
}
