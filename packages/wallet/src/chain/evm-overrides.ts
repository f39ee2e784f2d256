import * as z from 'zod'
import { addressSchema, wire } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'
import { hex } from './evm-wire.ts'

/** What a call would leave, in the form in which `eth_call` takes it. */
export type Overrides = Readonly<
  Record<string, { readonly balance?: string; readonly stateDiff?: Readonly<Record<string, string>> }>
>

/** The maximum number of storage places that a call may change; each later question carries them. */
const placesMax = 2000
const emptyWord = `0x${'0'.repeat(64)}`

const wordSchema = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const accountsSchema = z.record(
  addressSchema,
  z.looseObject({ balance: quantitySchema.optional(), storage: z.record(wordSchema, wordSchema).optional() }),
)
const diffSchema = z.looseObject({ pre: accountsSchema, post: accountsSchema })

/** Returns the storage and the coins that a call would leave; null if the endpoint cannot tell. */
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

/** Places that had a value; the tracer leaves out those that are zero afterwards. */
function emptied(storage: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(storage).map((place) => [place, emptyWord]))
}
