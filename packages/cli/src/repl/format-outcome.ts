import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { RunView } from '@flotilla/protocol/run'
import type { FormattedError } from '../terminal/format-error.ts'

/** Formats the outcome of a failed run: its text, its code, and the repair from the catalogue. Pure. */
export function formatOutcome(run: RunView): FormattedError {
  const code = run.outcome?.code ?? run.state
  const detail = run.outcome?.text ?? ''
  return {
    detail: detail === '' ? `The run is ${run.state}.` : detail,
    code,
    repair: isProblemCode(code) ? repairOf(code, run.id) : `See flotilla runs ${run.id}.`,
  }
}

/** Returns the catalogue's repair, completed with the id of this run. */
function repairOf(code: ProblemCode, runId: string): string {
  const { repair } = problemCatalog[code]
  const own = repair.replace('flotilla runs RUN', `flotilla runs ${runId}`)
  return own === repair ? `${repair} The whole run: flotilla runs ${runId}.` : own
}
