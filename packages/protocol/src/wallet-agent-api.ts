import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { chainNames } from './wallet-api.ts'

/** What an agent may ask of its own wallet. */
export const walletAgentEndpoints = {
  walletOwnAddress: { method: 'GET', path: '/mesh/wallet/address', summary: 'The address of the caller' },
  walletOwnBalance: {
    method: 'GET',
    path: '/mesh/wallet/balance',
    summary: 'What the address of the caller holds of the chain’s own coin, asked now',
  },
} as const satisfies Record<string, Endpoint>

const query = z.strictObject({ chain: z.enum(chainNames) })

export const walletAgentApi = {
  walletOwnAddress: {
    query,
    response: z.strictObject({ chain: z.enum(chainNames), address: z.string() }),
  },
  walletOwnBalance: {
    query,
    response: z.strictObject({
      chain: z.enum(chainNames),
      address: z.string(),
      coin: z.string(),
      /** In whole coins, to the last digit. */
      amount: z.string(),
      /** Base units. */
      raw: z.string(),
    }),
  },
} as const satisfies Record<keyof typeof walletAgentEndpoints, EndpointSchemas>
