import type { RungView } from '@flotilla/protocol/isolation'
import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Reports each requested isolation level: how it is provided, or why it is not available. Pure. */
export function isolationFindings(rungs: readonly RungView[]): readonly DoctorFinding[] {
  return rungs.flatMap(({ rung, available, detail, repair }) => {
    if (rung === 'container' || available === null) return []
    return available
      ? [ok(`isolation-${rung}`, detail)]
      : [warning(`isolation-${rung}`, `${rung} is not available: ${detail}`, repair)]
  })
}
