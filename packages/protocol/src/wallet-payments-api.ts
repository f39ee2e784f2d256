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
  walletPayments: { method: 'GET', path: '/api/wallet/payments', summary: 'What was paid, newest first' },
  walletPaymentReplace: {
    method: 'POST',
    path: '/api/wallet/payments/{id}/replace',
    summary: 'Signs a payment that does not land once more at its number: at a higher fee, or as nothing',
  },
  walletLimitsNow: {
    method: 'GET',
    path: '/api/wallet/limits',
    summary: 'What each agent may pay and has paid, and whether anything is signed at all',
  },
  walletResume: {
    method: 'POST',
    path: '/api/wallet/resume',
    summary: 'Lets a stopped wallet sign again, from where its chains are',
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
