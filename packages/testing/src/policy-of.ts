import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { createCheckEffect, snapshotOf } from '../../identity/src/policy/index.ts'
import type { PolicyChecks } from '../../identity/src/policy/index.ts'
import { collectJournal } from '../../../tests/support/collected-ports.ts'

/** The check of a policy with this text, for agents without a project and runs of a person. */
export function policyOf(text: string): PolicyChecks {
  const snapshot = snapshotOf(text)
  return createCheckEffect({
    policy: { snapshot: () => snapshot },
    projectOf: () => null,
    originsOf: () => ({ origins: ['human'], channels: ['cli'] }),
    journal: collectJournal(),
    clock: createManualClock(),
    log: silentLog,
    use: { note: () => {} },
  })
}
