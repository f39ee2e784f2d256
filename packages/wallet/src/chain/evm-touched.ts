import * as z from 'zod'
import { addressSchema, hex, wire } from './evm-wire.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import type { RpcSession } from './json-rpc.ts'
import { readTrace, writersIn } from './evm-trace.ts'

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
export async function touchedBy(
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
