import * as z from 'zod'
import { failureReason } from './evm-call.ts'
import { countEffects } from './evm-count.ts'
import type { Ask, Readings } from './evm-count.ts'
import { coinLogger, effectsOf, transferLog } from './evm-effects.ts'
import type { EvmLog } from './evm-effects.ts'
import { approveSelector, distinct } from './evm-measured.ts'
import { readOverrides } from './evm-overrides.ts'
import type { Overrides } from './evm-overrides.ts'
import { addressSchema, bytesSchema, logSchema, logsMax, wire } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { sameEvmAddress } from './evm-address.ts'
import { quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import type { Effects, Simulation } from './paying-chain.ts'

/** The maximum nesting of calls in a trace that is read. */
const traceDepthMax = 64
/**
 * The maximum number of contracts that are asked one by one for the sender's balance, if the endpoint cannot
 * simulate.
 */
const contractsMax = 24

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
const frameSchema: z.ZodType<Frame> = z.looseObject({
  type: z.string().optional(),
  from: addressSchema.optional(),
  to: addressSchema.optional(),
  value: quantitySchema.optional(),
  error: z.string().nullish(),
  input: bytesSchema.optional(),
  output: bytesSchema.optional(),
  logs: z.array(logSchema).max(logsMax).optional(),
  get calls() {
    return z.array(frameSchema).max(5000).optional()
  },
})

type Trace =
  | { readonly kind: 'trace'; readonly frame: Frame }
  | { readonly kind: 'none'; readonly reason: string; readonly isRefused: boolean }

/**
 * Returns the trace of a call, executed on the newest block; `none` with the reason if the endpoint gives no trace.
 */
export async function readTrace(session: RpcSession, call: EvmCallRequest): Promise<Trace> {
  const answer = await session.answer('debug_traceCall', [
    wire(call),
    'latest',
    { tracer: 'callTracer', tracerConfig: { withLog: true } },
  ])
  if (answer.kind === 'refused') return { kind: 'none', reason: answer.reason, isRefused: true }
  const frame = frameSchema.safeParse(answer.result)
  return frame.success
    ? { kind: 'trace', frame: frame.data }
    : { kind: 'none', reason: 'the trace has an unknown form', isRefused: false }
}

/**
 * Returns the effects of a call by its trace, for endpoints without `eth_simulateV1`; `before` says why the endpoint
 * cannot simulate. Balances after the call are read with the storage that the call would leave. If the endpoint
 * cannot report that storage, the sender's whole balance of each token that the call uses counts as lost.
 */
export async function traceEvm(
  session: RpcSession,
  call: EvmCallRequest,
  before: string,
): Promise<Simulation> {
  const trace = await readTrace(session, call)
  if (trace.kind === 'none') {
    const reason = trace.isRefused
      ? `the endpoint supports neither eth_simulateV1 (${before}) nor debug_traceCall (${trace.reason})`
      : trace.reason
    return { kind: 'unknown', reason }
  }
  const { frame } = trace
  if (frame.error != null) return { kind: 'fails', reason: failureReason(frame.output ?? '0x', frame.error) }
  const logs = logsOf(frame, 0)
  if (logs === null)
    return { kind: 'unknown', reason: `the call is nested deeper than ${traceDepthMax} levels` }
  if (letsTakeInSilence(call, effectsOf(call.from, { logs, sentRaw: call.value })))
    return { kind: 'unknown', reason: 'a token does not report its allowances' }
  const touched = writersIn(frame)
  const after = await readOverrides(session, call)
  const used = distinct([call.to, ...touched])
  return countEffects(readingsWith(session, { after, used }), call, { logs, touched })
}

/** Reads contracts one by one, once in their current state and once in the state after the call. */
function readingsWith(
  session: RpcSession,
  { after, used }: { readonly after: Overrides | null; readonly used: readonly string[] },
): Readings {
  const read = async (ask: Ask, overrides?: Overrides): Promise<bigint | null> => {
    const reply = await session.answer('eth_call', [ask, 'latest', ...(overrides ? [overrides] : [])])
    const word = reply.kind === 'result' ? bytesSchema.safeParse(reply.result) : null
    return word?.success && word.data.length === 66 ? BigInt(word.data) : null
  }
  return {
    contractsMax,
    before: async (asks) => ({
      kind: 'answers',
      values: await Promise.all(asks.map((ask) => read(ask))),
    }),
    around: async (asks) => ({
      kind: 'answers',
      values: await Promise.all(
        asks.map(async (ask) => {
          const before = await read(ask)
          // A contract that the trace does not show has not changed, so its value is the same after the call.
          if (after === null) return { before, after: used.includes(ask.to.toLowerCase()) ? null : before }
          return { before, after: await read(ask, after) }
        }),
      ),
    }),
  }
}

/**
 * Returns contracts that may have changed their storage in a trace: called with data, and neither by `STATICCALL` nor
 * in a call that was reverted.
 */
export function writersIn({ calls = [] }: Frame): readonly string[] {
  return calls.flatMap((inner) => {
    if (inner.error != null || inner.type === 'STATICCALL') return []
    const writes = inner.type === 'CALL' && inner.to !== undefined && inner.input !== '0x'
    return [...(writes && inner.to !== undefined ? [inner.to] : []), ...writersIn(inner)]
  })
}

/**
 * True if the call is an `approve` of more than zero and no log shows the allowance: some tokens write no log, and
 * may store the allowance in any slot.
 */
function letsTakeInSilence({ data }: EvmCallRequest, { grants }: Effects): boolean {
  if (!data.startsWith(approveSelector)) return false
  const isNothing = /^0*$/.test(data.slice(10 + 64, 10 + 128))
  return (
    !isNothing && !grants.some(({ spender }) => sameEvmAddress(spender, `0x${data.slice(10 + 24, 10 + 64)}`))
  )
}

/**
 * Returns the logs of a call and of its inner calls, without those of reverted calls; null if the calls are nested
 * too deeply.
 */
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

/**
 * Returns the coin transfer of a call in the form of a simulation's log; none for a delegate call, whose `value` only
 * repeats that of the enclosing call.
 */
function coinsOf({ type, from, to, value = 0n }: Frame): readonly EvmLog[] {
  const hands = type !== 'DELEGATECALL' && type !== 'CALLCODE' && type !== 'STATICCALL'
  if (!hands || value === 0n || from === undefined || to === undefined) return []
  return [transferLog(coinLogger, { from, to, raw: value })]
}
