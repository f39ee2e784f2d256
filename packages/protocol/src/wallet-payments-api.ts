import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import {
  paymentReplaceSchema,
  paymentViewSchema,
  resumedWalletSchema,
  walletLimitsSchema,
} from './wallet-payments.ts'

/** The people's API of payments. */
export const walletPaymentEndpoints = {
  walletPayments: { method: 'GET', path: '/api/wallet/payments', summary: 'List payments, newest first.' },
  walletPaymentReplace: {
    method: 'POST',
    path: '/api/wallet/payments/{id}/replace',
    summary: 'Replace a payment that is not included: by the same at a higher fee, or by an empty one.',
  },
  walletLimitsNow: {
    method: 'GET',
    path: '/api/wallet/limits',
    summary: 'Return each agent’s payment limits and spend, and whether signing is stopped.',
  },
  walletResume: {
    method: 'POST',
    path: '/api/wallet/resume',
    summary: 'Let a stopped wallet sign again, from the current state of its chains.',
  },
} as const satisfies Record<string, Endpoint>

export const walletPaymentApi = {
  walletPayments: {
    query: z.strictObject({ agent_id: z.optional(agentIdSchema) }),
    response: z.strictObject({ payments: z.array(paymentViewSchema) }),
  },
  walletPaymentReplace: { request: paymentReplaceSchema, response: paymentViewSchema },
  walletLimitsNow: { response: walletLimitsSchema },
  walletResume: { response: resumedWalletSchema },
} as const satisfies Record<keyof typeof walletPaymentEndpoints, EndpointSchemas>
