import type { Environment } from '../../config/index.ts'
import { failure, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Values of `.env` with which no mesh starts, and names that have no effect. Pure. */
export function environmentFindings({
  leftOut,
  warnings,
}: Pick<Environment, 'leftOut' | 'warnings'>): readonly DoctorFinding[] {
  return [
    ...leftOut.map((words) =>
      failure('setting-value', words, 'Mend it in .env of the home: a mesh does not start with it.'),
    ),
    ...warnings.map((words) => warning('setting-name', words, 'Mend the name, or take it out.')),
  ]
}
