import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { RunView } from '@flotilla/protocol/run'
import type { ErrorWords } from '../terminal/error-words.ts'

/** How a run that did not end well is told: its words, its code, and what the catalogue says to do. Pure. */
export function outcomeWords(run: RunView): ErrorWords {
  const code = run.outcome?.code ?? run.state
  const detail = run.outcome?.text ?? ''
  return {
    detail: detail === '' ? `The run is ${run.state}.` : detail,
    code,
    repair: isProblemCode(code) ? problemCatalog[code].repair : `See flotilla runs ${run.id}.`,
  }
}
