import * as z from 'zod'
import { addressSchema, hex, wire } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import type { RpcSession } from './json-rpc.ts'
import { readTrace, writersIn } from './evm-trace.ts'

/** The gas of a payment to an address without code. */
const plainGas = 21_000n
/** The gas for a call of unknown cost, and the gas on top of the double of a known cost. */
const spareGas = 100_000n
/** The maximum number of contracts in an access list. */
const listMax = 5000

const accessListSchema = z.looseObject({
  accessList: z.array(z.looseObject({ address: addressSchema })).max(listMax),
  error: z.string().nullish(),
})

/**
 * Returns the contracts that a call uses, which logs alone do not show; null if the endpoint reports neither access
 * lists nor traces.
 */
export async function touchedBy(
  session: RpcSession,
  call: EvmCallRequest,
  gasUsed: bigint | undefined,
): Promise<readonly string[] | null> {
  if (call.data === '0x' && gasUsed === plainGas) return []
  // Without a limit, some nodes require coins for the most gas that they would run.
  const gas = gasUsed === undefined ? {} : { gas: hex(2n * gasUsed + spareGas) }
  const listed = await session.answer('eth_createAccessList', [{ ...wire(call), ...gas }, 'latest'])
  const read = listed.kind === 'result' ? accessListSchema.safeParse(listed.result) : null
  if (read?.success && read.data.error == null) return read.data.accessList.map(({ address }) => address)
  const trace = await readTrace(session, call)
  return trace.kind === 'trace' ? writersIn(trace.frame) : null
}
