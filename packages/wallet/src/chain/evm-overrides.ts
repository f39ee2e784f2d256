import * as z from 'zod'
import { addressSchema, wire } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import { hex } from './evm-wire.ts'

/** The state of accounts after a call, in the form of the state overrides of `eth_call`. */
export type Overrides = Readonly<
  Record<string, { readonly balance?: string; readonly stateDiff?: Readonly<Record<string, string>> }>
>

/** The maximum number of storage slots that a call may change; each later `eth_call` sends all of them. */
const placesMax = 2000
const emptyWord = `0x${'0'.repeat(64)}`

const wordSchema = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const accountsSchema = z.record(
  addressSchema,
  z.looseObject({ balance: quantitySchema.optional(), storage: z.record(wordSchema, wordSchema).optional() }),
)
const diffSchema = z.looseObject({ pre: accountsSchema, post: accountsSchema })

/**
 * Returns the storage and the coin balances that accounts would have after a call; null if the endpoint does not
 * trace storage, or if the call changes too many slots.
 */
export async function readOverrides(session: RpcSession, call: EvmCallRequest): Promise<Overrides | null> {
  const answer = await session.answer('debug_traceCall', [
    wire(call),
    'latest',
    { tracer: 'prestateTracer', tracerConfig: { diffMode: true, disableCode: true } },
  ])
  const read = answer.kind === 'result' ? diffSchema.safeParse(answer.result) : null
  if (!read?.success) return null
  const { pre, post } = read.data
  const places = Object.values({ ...pre, ...post }).flatMap(({ storage = {} }) => Object.keys(storage))
  if (places.length > placesMax) return null
  return Object.fromEntries(
    Object.entries(post).map(([address, { balance, storage }]) => [
      address,
      {
        ...(balance === undefined ? {} : { balance: hex(balance) }),
        stateDiff: { ...emptied(pre[address]?.storage), ...storage },
      },
    ]),
  )
}

/** Sets slots that had a value to zero, because the tracer omits slots that are zero after the call. */
function emptied(storage: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(storage).map((place) => [place, emptyWord]))
}
