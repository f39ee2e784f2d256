import type { MutationGroup } from './mutation-groups.ts'

const lease = 'packages/foundation/src/lease'

export const groupOfOneMesh: MutationGroup = {
  name: 'one-mesh',
  decides: 'which mesh alone may write to a ledger',
  files: [`${lease}/take-lease.ts`, `${lease}/hold-lease.ts`],
  tests: [`${lease}/lease.test.ts`],
}
