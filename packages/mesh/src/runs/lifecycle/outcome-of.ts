import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { RunRecord } from './run-record.ts'

/** Longest text of an outcome, characters; an agent cannot make the ledger larger than that. */
const textMaxChars = 100_000
const codeMaxChars = 64

/** What an agent says, in the ledger's words. Cost and tokens are the mesh's own count and not taken from it. Pure. */
export function outcomeOf(result: TaskResult): RunOutcome {
  const answer = {
    text: (result.response || result.error?.detail || '').slice(0, textMaxChars),
    ...(result.result === null ? {} : { result: result.result }),
  }
  switch (result.status) {
    case 'complete':
      return { status: 'done', ...answer }
    case 'cancelled':
      return { status: 'cancelled', ...answer, code: 'cancelled' }
    case 'timeout':
      return { status: 'failed', ...answer, code: codeOf(result, 'upstream-timeout') }
    case 'failed':
      return { status: 'failed', ...answer, code: codeOf(result, 'internal-error') }
  }
}

function codeOf(result: TaskResult, otherwise: ProblemCode): string {
  return result.error?.code.slice(0, codeMaxChars) || otherwise
}

/** An outcome that the mesh finds itself; what the run had said so far stays readable. Pure. */
export function failedOutcome(run: RunRecord, code: ProblemCode, why: string): RunOutcome {
  return { status: 'failed', code, text: withInterim(run, why) }
}

export function withInterim(run: RunRecord, why: string): string {
  return run.interimText ? `${why}\n\nSaid so far: ${run.interimText}` : why
}
