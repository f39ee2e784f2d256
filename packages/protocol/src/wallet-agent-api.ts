import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { chainNames } from './wallet-api.ts'
import {
  paymentAnswerSchema,
  paymentLimits,
  paymentViewSchema,
  simulationSchema,
  walletCallSchema,
  walletReadSchema,
  walletTransferSchema,
} from './wallet-payments.ts'

/** The agent API of the agent's own wallet. */
export const walletAgentEndpoints = {
  walletOwnAddress: {
    method: 'GET',
    path: '/mesh/wallet/address',
    summary: 'Return the calling agent’s address.',
  },
  walletOwnBalance: {
    method: 'GET',
    path: '/mesh/wallet/balance',
    summary: 'Return the calling agent’s current balance of a chain’s native coin or of a token.',
  },
  walletRead: {
    method: 'POST',
    path: '/mesh/wallet/read',
    summary: 'Call a contract function that changes nothing and return its result.',
  },
  walletSimulate: {
    method: 'POST',
    path: '/mesh/wallet/simulate',
    summary: 'Simulate a contract call and return its transfers, costs and the amount that would count.',
  },
  walletTransfer: {
    method: 'POST',
    path: '/mesh/wallet/transfer',
    summary: 'Pay the native coin of a chain or a token, exactly once.',
  },
  walletExecute: { method: 'POST', path: '/mesh/wallet/execute', summary: 'Call a contract, exactly once.' },
  walletOwnPayments: {
    method: 'GET',
    path: '/mesh/wallet/payments',
    summary: 'List the calling agent’s payments with their states.',
  },
} as const satisfies Record<string, Endpoint>

const query = z.strictObject({ chain: z.enum(chainNames) })

export const walletAgentApi = {
  walletOwnAddress: {
    query,
    response: z.strictObject({ chain: z.enum(chainNames), address: z.string() }),
  },
  walletOwnBalance: {
    query: z.extend(query, {
      /** The token's address; the chain's own coin if omitted. */
      token: z.optional(z.string().check(z.maxLength(paymentLimits.addressMaxChars))),
    }),
    response: z.strictObject({
      chain: z.enum(chainNames),
      address: z.string(),
      /** For a token, the symbol that its contract reports. */
      coin: z.string(),
      /** The balance in whole coins with all decimal places. */
      amount: z.string(),
      /** Base units. */
      raw: z.string(),
    }),
  },
  walletRead: { request: walletReadSchema, response: z.strictObject({ returned: z.array(z.unknown()) }) },
  walletSimulate: { request: walletCallSchema, response: simulationSchema },
  walletTransfer: { request: walletTransferSchema, response: paymentAnswerSchema },
  walletExecute: { request: walletCallSchema, response: paymentAnswerSchema },
  walletOwnPayments: { response: z.strictObject({ payments: z.array(paymentViewSchema) }) },
} as const satisfies Record<keyof typeof walletAgentEndpoints, EndpointSchemas>
