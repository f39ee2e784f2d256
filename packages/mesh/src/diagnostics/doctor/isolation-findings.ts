import type { RungView } from '@flotilla/protocol/isolation'
import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Of rungs of isolation that somebody asked for: what they are made of, or why they cannot be had. Pure. */
export function isolationFindings(rungs: readonly RungView[]): readonly DoctorFinding[] {
  return rungs.flatMap(({ rung, available, detail, repair }) => {
    if (rung === 'container' || available === null) return []
    return available
      ? [ok(`isolation-${rung}`, detail)]
      : [warning(`isolation-${rung}`, `${rung} cannot be had: ${detail}`, repair)]
  })
}
