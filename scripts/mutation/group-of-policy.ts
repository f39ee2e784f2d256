import type { MutationGroup } from './mutation-groups.ts'

/** The files that decide about effects by the owner's rules. */
export const groupOfPolicy: MutationGroup = {
  name: 'policy',
  decides: 'which effect of an agent is allowed, asked for or denied by the owner’s rules',
  files: [
    'packages/identity/src/policy/compile-rule.ts',
    'packages/identity/src/policy/condition.ts',
    'packages/identity/src/policy/decide-effect.ts',
    'packages/identity/src/policy/path-forms.ts',
    'packages/identity/src/policy/presets.ts',
    'packages/identity/src/policy/read-policy.ts',
    'packages/identity/src/policy/rule-index.ts',
    'packages/identity/src/policy/run-cases.ts',
  ],
  tests: ['packages/identity/src/policy/*.test.ts'],
}
