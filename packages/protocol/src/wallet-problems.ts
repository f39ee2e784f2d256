import type { ProblemKind } from './problem-kind.ts'

/** What may be wrong with the seed of the wallet, and with what is to be paid; part of the one catalogue. */
export const walletProblems = {
  'no-wallet': {
    status: 404,
    title: 'There is no wallet yet',
    retryable: false,
    repair:
      'The owner makes one with flotilla wallet init, or takes in the words of another with flotilla wallet import.',
  },
  'wallet-locked': {
    status: 409,
    title: 'The wallet waits for its passphrase',
    retryable: false,
    repair: 'The owner opens it with flotilla wallet unlock, once after each start of the mesh.',
  },
  'seed-revealed': {
    status: 410,
    title: 'The words of the wallet were shown once and are shown no more',
    retryable: false,
    repair:
      'Use the words that were written down then; flotilla wallet status shows which seed there is, and flotilla wallet import takes its words in again.',
  },
  'wallet-stopped': {
    status: 409,
    title: 'The wallet signs nothing more until its owner has looked',
    retryable: false,
    repair:
      'The owner reads the reason in flotilla wallet limits, sees to it that no other mesh pays from the same seed, and goes on with flotilla wallet resume.',
  },
  'no-price': {
    status: 503,
    title: 'What it is worth is not known for certain, so that no limit could hold',
    retryable: true,
    repair:
      'Try again in a minute. Where it stays so, pay with the coin of the chain or a token that is traded; the owner names sources in wallet.price_sources of config/settings.json.',
  },
  'would-fail': {
    status: 422,
    title: 'The chain says that it would be undone',
    retryable: false,
    repair:
      'Look at the reason, at what the address holds and at the arguments; wallet_simulate tries a call without paying.',
  },
  'not-simulated': {
    status: 422,
    title: 'What it would move is not known, so that no limit could hold',
    retryable: false,
    repair:
      'The owner sets up an RPC that has eth_simulateV1 or debug_traceCall, or writes the contract and function into wallet.allow_unsimulated of config/settings.json.',
  },
} as const satisfies Record<string, ProblemKind>
