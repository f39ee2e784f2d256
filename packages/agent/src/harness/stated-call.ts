import type { HarnessCallKind } from '@flotilla/protocol/harness-api'

/** What a harness states about one of its calls, as received. */
export interface StatedCall {
  /** Null if the harness names none, or one that is not known. */
  readonly tool: HarnessCallKind | null
  readonly title: string | null
  /** The paths that the call concerns. */
  readonly paths: readonly string[]
  /** The harness's own record of the input; null or undefined without one. */
  readonly input: unknown
  /** The parts of the result, or of what the call would change. */
  readonly content: unknown
}

/** Returns what a harness has stated about a call by a later message, which leaves out what did not change. Pure. */
export function joinStated(earlier: StatedCall, later: StatedCall): StatedCall {
  return {
    tool: later.tool ?? earlier.tool,
    title: later.title ?? earlier.title,
    paths: later.paths.length > 0 ? later.paths : earlier.paths,
    input: hasContent(later.input) ? later.input : earlier.input,
    content: hasContent(later.content) ? later.content : earlier.content,
  }
}

/** Returns whether a value says anything: harnesses send empty records before they know the input. Pure. */
export function hasContent(value: unknown): boolean {
  if (value === undefined || value === null) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}
