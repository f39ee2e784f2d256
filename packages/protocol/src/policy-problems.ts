import type { ProblemKind } from './problem-kind.ts'

/** Problems of effects that the owner's policy does not allow; part of the one catalogue. */
export const policyProblems = {
  'policy-denied': {
    status: 403,
    title: 'A rule of the owner forbids this',
    retryable: false,
    repair:
      'Continue without it, or tell the owner what you wanted to do: flotilla policy explain AGENT METHOD URL shows the rule of config/policy.yaml.',
  },
  'approval-required': {
    status: 403,
    title: 'A person must approve this first',
    retryable: false,
    repair:
      'End your turn and do not repeat the call: the owner decides with flotilla pending, and you are called again with the decision and the answer.',
  },
} as const satisfies Record<string, ProblemKind>
