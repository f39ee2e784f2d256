import type { ProblemKind } from './problem-kind.ts'

/** What may be wrong with the seed of the wallet; part of the one catalogue. */
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
} as const satisfies Record<string, ProblemKind>
