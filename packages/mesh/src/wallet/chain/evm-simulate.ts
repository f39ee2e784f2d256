import * as z from 'zod'
import { encodeCall, revertReason } from './evm-call.ts'
import { effectsOf } from './evm-effects.ts'
import type { EvmLog } from './evm-effects.ts'
import { sameEvmAddress } from './evm-address.ts'
import { plainLine, quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import type { Effects, Simulation } from './paying-chain.ts'

export interface EvmCallRequest {
  readonly from: string
  readonly to: string
  /** In hexadecimal digits, with 0x. */
  readonly data: string
  readonly value: bigint
}

/** Tokens of which the balances before and after are asked; what touches more is not understood. */
const tokensMax = 24
const traceDepthMax = 64
/** That there is no such method, in the words of those that say so with another number. */
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
  readonly error?: string | null | undefined
  readonly output?: string | undefined
  readonly logs?: readonly EvmLog[] | undefined
  readonly calls?: readonly Frame[] | undefined
}
const frameSchema: z.ZodType<Frame> = z.looseObject({
  error: z.string().nullish(),
  output: bytes.optional(),
  logs: z.array(logSchema).max(5000).optional(),
  get calls() {
    return z.array(frameSchema).max(5000).optional()
  },
})

/**
 * What a call would do in the newest block: by `eth_simulateV1` where the far end has it, which also tells what each token
 * says before and after; else by `debug_traceCall`, which tells the logs alone; else not at all.
 */
export async function simulateEvm(session: RpcSession, call: EvmCallRequest): Promise<Simulation> {
  const first = await simulateCalls(session, [wire(call)])
  if (first.kind === 'none') return traceCall(session, call, first.reason)
  const [done] = first.calls
  if (done === undefined) return { kind: 'unknown', reason: 'its simulation has no call in it' }
  if (done.status !== 1n)
    return { kind: 'fails', reason: reasonOf(done.error?.data ?? done.returnData, done.error?.message) }
  const seen = effectsOf(call.from, { logs: done.logs, sentRaw: call.value, named: call.to })
  const tokens = tokensOf(call, seen)
  if (tokens.length > tokensMax)
    return { kind: 'unknown', reason: `it touches more than ${tokensMax} tokens` }
  return withBalances(session, call, { seen, tokens })
}

/** Each token asked before and after, so that one whose logs are silent, or that takes more than it says, is seen. */
async function withBalances(
  session: RpcSession,
  call: EvmCallRequest,
  { seen, tokens }: { readonly seen: Effects; readonly tokens: readonly string[] },
): Promise<Simulation> {
  if (tokens.length === 0) return { kind: 'moves', effects: seen }
  const { data } = encodeCall({ function: 'balanceOf(address)', args: [call.from] })
  const asks = tokens.map((to) => ({ to, data }))
  const both = await simulateCalls(session, [...asks, wire(call), ...asks])
  if (both.kind === 'none') return { kind: 'unknown', reason: both.reason }
  if (both.calls.length !== 2 * tokens.length + 1) {
    return { kind: 'unknown', reason: 'its simulation has another number of calls than it was asked for' }
  }
  const held = (at: number): bigint | null => {
    const answer = both.calls[at]
    return answer?.status === 1n && answer.returnData.length === 66 ? BigInt(answer.returnData) : null
  }
  const measured = new Map<string, { before: bigint; change: bigint }>()
  for (const [at, token] of tokens.entries()) {
    const [before, after] = [held(at), held(tokens.length + 1 + at)]
    // No token of amounts: things, or a contract that is no token at all.
    if (before !== null && after !== null)
      measured.set(token.toLowerCase(), { before, change: after - before })
  }
  return { kind: 'moves', effects: worst(seen, measured) }
}

/** Of what the logs say and what was measured, the one in which less is left. */
function worst(seen: Effects, measured: ReadonlyMap<string, { before: bigint; change: bigint }>): Effects {
  const changes = new Map<string | null, bigint>(
    seen.changes.map(({ asset, raw }) => [asset === null ? null : asset.toLowerCase(), raw]),
  )
  for (const [asset, { change }] of measured) {
    const told = changes.get(asset)
    changes.set(asset, told === undefined || change < told ? change : told)
  }
  return {
    payees: seen.payees,
    changes: [...changes].map(([asset, raw]) => ({ asset, raw })).filter(({ raw }) => raw !== 0n),
    grants: seen.grants.map((grant) =>
      grant.unlimited
        ? { ...grant, raw: measured.get(grant.asset.toLowerCase())?.before ?? grant.raw }
        : grant,
    ),
  }
}

function tokensOf({ to, data }: EvmCallRequest, { changes, grants }: Effects): readonly string[] {
  const named = [
    ...(data === '0x' ? [] : [to]),
    ...changes.flatMap(({ asset }) => (asset === null ? [] : [asset])),
    ...grants.map(({ asset }) => asset),
  ]
  return named.filter((one, at) => named.findIndex((other) => sameEvmAddress(one, other)) === at)
}

async function simulateCalls(session: RpcSession, calls: readonly object[]) {
  const block = await session.ask('eth_getBlockByNumber', ['latest', false], feeBlockSchema)
  // Without it the base fee of a simulation is 0, by which a contract knows that it is watched.
  const blockOverrides = block.baseFeePerGas === undefined ? {} : { baseFeePerGas: hex(block.baseFeePerGas) }
  const answer = await session.answer('eth_simulateV1', [
    { blockStateCalls: [{ blockOverrides, calls }], validation: false, traceTransfers: false },
    'latest',
  ])
  if (answer.kind === 'refused')
    return { kind: 'none', reason: answer.reason, isMissing: answer.code === noMethod } as const
  const read = simulatedSchema.safeParse(answer.result)
  if (!read.success)
    return { kind: 'none', reason: 'its simulation is of another form', isMissing: false } as const
  return { kind: 'done', calls: read.data[0]?.calls ?? [] } as const
}

export const feeBlockSchema = z.looseObject({
  number: quantitySchema,
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
      reason: `neither eth_simulateV1 (${before}) nor debug_traceCall (${answer.reason})`,
    }
  }
  const frame = frameSchema.safeParse(answer.result)
  if (!frame.success) return { kind: 'unknown', reason: 'its trace is of another form' }
  if (frame.data.error != null)
    return { kind: 'fails', reason: reasonOf(frame.data.output ?? '0x', frame.data.error) }
  const logs = logsOf(frame.data, 0)
  if (logs === null) return { kind: 'unknown', reason: `it calls more than ${traceDepthMax} levels deep` }
  return { kind: 'moves', effects: effectsOf(call.from, { logs, sentRaw: call.value, named: call.to }) }
}

/** Those of calls that were undone never happened. */
function logsOf(frame: Frame, depth: number): readonly EvmLog[] | null {
  if (depth > traceDepthMax) return null
  const logs: EvmLog[] = [...(frame.logs ?? [])]
  for (const inner of frame.calls ?? []) {
    if (inner.error != null) continue
    const deeper = logsOf(inner, depth + 1)
    if (deeper === null) return null
    logs.push(...deeper)
  }
  return logs
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
