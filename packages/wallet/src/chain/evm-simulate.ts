import * as z from 'zod'
import { failureReason } from './evm-call.ts'
import { countEffects } from './evm-count.ts'
import type { Answers, Ask, Readings } from './evm-count.ts'
import type { Pair } from './evm-measured.ts'
import { traceEvm, readTrace, writersIn } from './evm-trace.ts'
import { bytesSchema, feeBlockSchema, hex, logSchema, logsMax, wire, addressSchema } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import type { Simulation } from './paying-chain.ts'

/** The maximum number of contracts that are asked in one simulation for the sender's balance. */
const contractsMax = 200
/**
 * The simulated time is this long after the newest block, in seconds. Nodes reject a simulated time
 * that is not after a block that arrived since.
 */
const aheadSeconds = 15n
/** JSON-RPC code for a missing method; some nodes use another code and say so in the message. */
const noMethod = -32_601

const simulatedSchema = z
  .array(
    z.looseObject({
      calls: z.array(
        z.looseObject({
          status: quantitySchema,
          returnData: bytesSchema,
          gasUsed: quantitySchema.optional(),
          logs: z.array(logSchema).max(logsMax).default([]),
          error: z.looseObject({ message: z.string(), data: bytesSchema.optional() }).nullish(),
        }),
      ),
    }),
  )
  .length(1)
type SimulatedCall = z.output<typeof simulatedSchema>[number]['calls'][number]

/**
 * Returns the effects of a call in the newest block. Uses `eth_simulateV1` where the endpoint has it, otherwise
 * `debug_traceCall`; otherwise the effects are unknown.
 */
export async function simulateEvm(session: RpcSession, call: EvmCallRequest): Promise<Simulation> {
  const first = await simulateCalls(session, [wire(call)])
  if (first.kind === 'none') return traceEvm(session, call, first.reason)
  const [done] = first.calls
  if (done === undefined) return { kind: 'unknown', reason: 'the simulation contains no call' }
  if (done.status !== 1n)
    return { kind: 'fails', reason: failureReason(done.error?.data ?? done.returnData, done.error?.message) }
  const touched = await touchedBy(session, call, done.gasUsed)
  return countEffects(readingsOf(session, call), call, { logs: done.logs, touched })
}

/** Reads contracts in one simulation: before the call, or both before and after it. */
function readingsOf(session: RpcSession, call: EvmCallRequest): Readings {
  return {
    contractsMax,
    before: async (asks) => {
      const simulated = await simulatedWords(session, asks)
      return simulated.kind === 'unknown' ? simulated : { kind: 'answers', values: simulated.values }
    },
    around: async (asks): Promise<Answers<Pair>> => {
      if (asks.length === 0) return { kind: 'answers', values: [] }
      const simulated = await simulatedWords(session, [...asks, wire(call), ...asks])
      if (simulated.kind === 'unknown') return simulated
      const { values } = simulated
      return {
        kind: 'answers',
        values: asks.map((_, at) => ({
          before: values[at] ?? null,
          after: values[asks.length + 1 + at] ?? null,
        })),
      }
    },
  }
}

/** Returns the number that each simulated call returned; null means that the contract is not a fungible token. */
async function simulatedWords(session: RpcSession, calls: readonly Ask[]): Promise<Answers<bigint | null>> {
  const reply = await simulateCalls(session, calls)
  if (reply.kind === 'none') return { kind: 'unknown', reason: reply.reason }
  if (reply.calls.length !== calls.length) {
    return { kind: 'unknown', reason: 'the simulation contains another number of calls than requested' }
  }
  return { kind: 'answers', values: reply.calls.map(wordOf) }
}

function wordOf({ status, returnData }: SimulatedCall): bigint | null {
  return status === 1n && returnData.length === 66 ? BigInt(returnData) : null
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

/** The gas that a payment to an address without code uses. */
const plainGas = 21_000n
/** Gas in addition to twice the gas that the simulated call used; its access list is created with that limit. */
const spareGas = 100_000n
/** The maximum number of contracts in an access list; a longer list is not read. */
const listMax = 5000

const accessListSchema = z.looseObject({
  accessList: z.array(z.looseObject({ address: addressSchema })).max(listMax),
  error: z.string().nullish(),
})

/**
 * Returns the contracts that a call uses, including those that write no log; null if the endpoint reports neither
 * access lists nor traces.
 */
async function touchedBy(
  session: RpcSession,
  call: EvmCallRequest,
  gasUsed: bigint | undefined,
): Promise<readonly string[] | null> {
  if (call.data === '0x' && gasUsed === plainGas) return []
  // Without a gas limit, some nodes require that the sender can pay for the maximum gas of a call.
  const gas = gasUsed === undefined ? {} : { gas: hex(2n * gasUsed + spareGas) }
  const listed = await session.answer('eth_createAccessList', [{ ...wire(call), ...gas }, 'latest'])
  const read = listed.kind === 'result' ? accessListSchema.safeParse(listed.result) : null
  if (read?.success && read.data.error == null) return read.data.accessList.map(({ address }) => address)
  const trace = await readTrace(session, call)
  return trace.kind === 'trace' ? writersIn(trace.frame) : null
}
