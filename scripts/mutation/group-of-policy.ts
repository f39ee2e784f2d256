import type { MutationGroup } from './mutation-groups.ts'

/** The files that decide about effects by the owner's rules. */
export const groupOfPolicy: MutationGroup = {
  name: 'policy',
  decides: 'which effect of an agent is allowed, asked for or denied by the owner’s rules',
  files: [
    'packages/identity/src/policy/check-effect.ts',
    'packages/identity/src/policy/compile-rule.ts',
    'packages/identity/src/policy/condition.ts',
    'packages/identity/src/policy/condition-keys.ts',
    'packages/identity/src/policy/condition-readings.ts',
    'packages/identity/src/policy/condition-truth.ts',
    'packages/identity/src/policy/decide-effect.ts',
    'packages/identity/src/policy/furthest-verdict.ts',
    'packages/identity/src/policy/parse-policy.ts',
    'packages/identity/src/policy/path-forms.ts',
    'packages/identity/src/policy/presets.ts',
    'packages/identity/src/policy/propose-rule.ts',
    'packages/identity/src/policy/read-policy.ts',
    'packages/identity/src/policy/rule-groups.ts',
    'packages/identity/src/policy/rule-index.ts',
    'packages/identity/src/policy/run-cases.ts',
    'packages/identity/src/policy/text-finder.ts',
    'packages/identity/src/policy/text-search.ts',
  ],
  tests: ['packages/identity/src/policy/*.test.ts'],
}
