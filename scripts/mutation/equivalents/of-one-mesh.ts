import { inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfOneMesh: readonly Equivalent[] = [
  ...inFile('packages/foundation/src/lease/hold-lease.ts', [
    {
      line: 'const renewed = await renewOnce().catch(() => false)',
      becomes: 'const renewed = await renewOnce().catch(() => undefined)',
      reason: 'it is asked alone whether it is true',
    },
    {
      line: 'if (now?.holder === holder && now.epoch === epoch)',
      becomes: 'if (now.holder === holder && now.epoch === epoch)',
      reason: 'without the record nothing is written: a comparison prevents it, or an error that is ignored',
    },
  ]),
  ...inFile('packages/foundation/src/lease/take-lease.ts', [
    {
      line: 'if (now?.version === seen?.version) continue',
      becomes: 'if (now?.version === seen.version) continue',
      reason: 'who is waited for was seen in a record, and that stays until the wait ends',
    },
  ]),
]
