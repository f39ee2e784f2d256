import type { ProblemKind } from './problem-kind.ts'

/** Problems of the wallet's seed and of payments; part of the one catalogue. */
export const walletProblems = {
  'no-wallet': {
    status: 404,
    title: 'There is no wallet',
    retryable: false,
    repair:
      'The owner creates one with flotilla wallet init, or imports a seed phrase with flotilla wallet import.',
  },
  'wallet-locked': {
    status: 409,
    title: 'The wallet is locked',
    retryable: false,
    repair: 'The owner unlocks the wallet with flotilla wallet unlock, once after each start of the mesh.',
  },
  'seed-revealed': {
    status: 410,
    title: 'The seed phrase was shown once and is not shown again',
    retryable: false,
    repair:
      'Use the phrase that was written down; flotilla wallet status shows which seed is in use, and flotilla wallet import restores it from its words.',
  },
  'wallet-stopped': {
    status: 409,
    title: 'The wallet is stopped until its owner has checked it',
    retryable: false,
    repair:
      'The owner reads the reason in flotilla wallet limits, makes sure that no other mesh pays from the same seed, and continues with flotilla wallet resume.',
  },
  'no-price': {
    status: 503,
    title: 'The value is not known reliably, so limits cannot be checked',
    retryable: true,
    repair:
      'Retry in a minute. If it persists, pay with the chain’s own coin or a traded token; the owner sets sources in wallet.price_sources of config/settings.json.',
  },
  'would-fail': {
    status: 422,
    title: 'The transaction would revert',
    retryable: false,
    repair:
      'Check the reason, the balance of the address and the arguments; wallet_simulate tries a call without paying.',
  },
  'not-simulated': {
    status: 422,
    title: 'The effect of the transaction is unknown, so limits cannot be checked',
    retryable: false,
    repair:
      'The owner configures an RPC with eth_simulateV1 or debug_traceCall, or adds the contract and function to wallet.allow_unsimulated of config/settings.json.',
  },
} as const satisfies Record<string, ProblemKind>
