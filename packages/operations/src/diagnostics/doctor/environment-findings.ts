import type { Environment } from '@flotilla/foundation/config'
import { failure, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Reports values of `.env` that prevent a start, and names without effect. Pure. */
export function environmentFindings({
  leftOut,
  warnings,
}: Pick<Environment, 'leftOut' | 'warnings'>): readonly DoctorFinding[] {
  return [
    ...leftOut.map((text) =>
      failure(
        'setting-value',
        text,
        'Correct the value in .env in the home: the mesh does not start with it.',
      ),
    ),
    ...warnings.map((text) => warning('setting-name', text, 'Correct the name, or remove the line.')),
  ]
}
