import { Problem } from '@flotilla/protocol/problem'
import { CommandFailed } from '../command-failed.ts'
import { markedLines, printable } from './color.ts'
import type { Color } from './color.ts'

/** An error for people: what happened, its code, and what to do next. */
export interface FormattedError {
  readonly detail: string
  readonly code: string
  readonly repair: string
}

export function formatError(error: unknown): FormattedError {
  if (error instanceof Problem) return { detail: error.detail, code: error.code, repair: error.repair }
  if (error instanceof CommandFailed) return { detail: error.message, code: error.code, repair: error.repair }
  return {
    detail: error instanceof Error ? error.message : 'unknown error',
    code: 'internal-error',
    repair: 'This looks like a bug in Flotilla. Run flotilla doctor and report both outputs.',
  }
}

/** Formats the error as lines for standard error; `typed` writes commands as this person types them. */
export function errorLines(problem: FormattedError, color: Color, typed: (text: string) => string): string[] {
  return [
    ...markedLines(typed(problem.detail)).map((line, index) =>
      index === 0 ? `${color.bad('✗')} ${line}` : line,
    ),
    `  ${color.faint('code')} ${problem.code}`,
    ...printable(typed(problem.repair))
      .split(/[\n\u2028\u2029]/)
      .map((line, index) => `  ${color.faint(index === 0 ? 'next' : '    ')} ${line}`),
  ]
}
