const wallet = 'packages/wallet/src'

/** Decisions about seeds, recipients, counted amounts and signatures. */
export const groupsOfWallet = [
  {
    name: 'wallet',
    decides: 'which seed there is, who sees it, and whose index is whose',
    files: [`${wallet}/manage-wallet.ts`, `${wallet}/seed/derive-keys.ts`, `${wallet}/seed/seed-store.ts`],
    tests: [
      `${wallet}/manage-wallet.test.ts`,
      `${wallet}/seed/derive-keys.test.ts`,
      `${wallet}/seed/seed-store.test.ts`,
    ],
  },
  {
    name: 'payments',
    decides: 'what an agent may pay, what is signed for it, and what becomes of that, once',
    files: [
      `${wallet}/payments/charge-table.ts`,
      `${wallet}/payments/follow-payments.ts`,
      `${wallet}/payments/intent-record.ts`,
      `${wallet}/payments/pay.ts`,
      `${wallet}/payments/replace-payment.ts`,
      `${wallet}/payments/sign-payment.ts`,
      `${wallet}/payments/watch-signers.ts`,
    ],
    tests: [`${wallet}/payments/*.test.ts`],
  },
  {
    name: 'approved-payments',
    decides: 'whether what is signed is still what a person was shown, and which equal payments are shown',
    files: [
      `${wallet}/payments/approved-payment.ts`,
      `${wallet}/payments/find-repeats.ts`,
      `${wallet}/payments/payment-approval.ts`,
    ],
    tests: [
      `${wallet}/payments/approved-once.test.ts`,
      `${wallet}/payments/bounds-of-payments.test.ts`,
      `${wallet}/payments/equal-payments.test.ts`,
      `${wallet}/payments/lower-bounds.test.ts`,
      `${wallet}/payments/payments.test.ts`,
    ],
  },
  {
    name: 'lower-bounds',
    decides: 'what an order counts for at least',
    files: [`${wallet}/payments/ordered-amounts.ts`],
    tests: [`${wallet}/payments/lower-bounds.test.ts`, `${wallet}/payments/ordered-amounts.test.ts`],
  },
  {
    name: 'payees',
    decides: 'whom a payment pays, what it counts for, and what a person sees of both',
    files: [
      `${wallet}/payments/amounts.ts`,
      `${wallet}/payments/assess-payment.ts`,
      `${wallet}/payments/approval-reasons.ts`,
      `${wallet}/payments/describe-payment.ts`,
      `${wallet}/payments/judge-payees.ts`,
      `${wallet}/payments/judge-tokens.ts`,
      `${wallet}/payments/read-effects.ts`,
      `${wallet}/payments/value-assets.ts`,
    ],
    tests: [
      `${wallet}/payments/bounds-of-payments.test.ts`,
      `${wallet}/payments/describe-payment.test.ts`,
      `${wallet}/payments/payments.test.ts`,
      `${wallet}/payments/pure-parts.test.ts`,
      `${wallet}/payments/shown-to-people.test.ts`,
    ],
  },
  {
    name: 'effects',
    decides: 'what a call on a chain of the EVM moves, whom it pays and whom it lets take',
    files: [
      `${wallet}/chain/evm-count.ts`,
      `${wallet}/chain/evm-effects.ts`,
      `${wallet}/chain/evm-measured.ts`,
    ],
    tests: [
      `${wallet}/chain/evm-count.test.ts`,
      `${wallet}/chain/evm-hidden.test.ts`,
      `${wallet}/chain/evm-measured.test.ts`,
      `${wallet}/chain/evm-parts.test.ts`,
    ],
  },
  {
    name: 'prices',
    decides: 'what something is worth, by whose word',
    files: [`${wallet}/prices/agree-on-price.ts`, `${wallet}/prices/asset-prices.ts`],
    tests: [`${wallet}/prices/*.test.ts`],
  },
  {
    name: 'solana',
    decides: 'which tokens of Solana are paid with, and which bytes are signed there',
    files: [
      `${wallet}/solana/find-foreign.ts`,
      `${wallet}/solana/judge-mint.ts`,
      `${wallet}/solana/token-layout.ts`,
      `${wallet}/solana/message.ts`,
      `${wallet}/solana/solana-address.ts`,
    ],
    tests: [
      `${wallet}/solana/find-foreign.test.ts`,
      `${wallet}/solana/judge-mint.test.ts`,
      `${wallet}/solana/message.test.ts`,
      `${wallet}/solana/solana-address.test.ts`,
    ],
  },
]
