import type { OpenLine } from '../../packages/egress/src/egress/fetch/forward-request.ts'

/** The state of a call whose caller never aborts and never disconnects. */
export function aLine(more: Partial<OpenLine> = {}): OpenLine {
  const never = new AbortController().signal
  return { signal: never, gone: never, dispatching: () => {}, ...more }
}
