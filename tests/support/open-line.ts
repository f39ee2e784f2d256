import type { OpenLine } from '../../packages/mesh/src/egress/fetch/forward-request.ts'

/** A line to the outside that nobody hangs up. */
export function aLine(more: Partial<OpenLine> = {}): OpenLine {
  const never = new AbortController().signal
  return { signal: never, gone: never, dispatching: () => {}, ...more }
}
