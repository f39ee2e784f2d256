import { limits } from '@flotilla/protocol/limits'

/** One call that was made, as far as repetition goes: hashes, never contents. */
export interface CallRecord {
  readonly tool: string
  readonly paramsHash: string
  readonly resultHash: string
}

/**
 * Before a call: whether it may run. `block` means that it is skipped with an error, `terminate` that the loop
 * ends as failed.
 */
export type BeforeCall = 'run' | 'block' | 'terminate'

/** Tools whose repetition means nothing (ARCHITECTURE 6.1). */
const exemptTools: readonly string[] = ['memory_search']

const { warnAtRepeat, blockAtRepeat, terminateAtRepeat, windowCalls } = limits.toolLoop

/** Pure. A call that has been made n times with the result it gave last would be the n-th repeat now. */
export function judgeBefore(
  calls: readonly CallRecord[],
  call: { tool: string; paramsHash: string },
): BeforeCall {
  const last = lastResultHash(calls, call)
  if (last === null || exemptTools.includes(call.tool)) return 'run'
  const repeats = countSame(calls, { ...call, resultHash: last })
  if (repeats >= terminateAtRepeat) return 'terminate'
  return repeats >= blockAtRepeat ? 'block' : 'run'
}

/** Pure. Whether the result just obtained is to be followed by the warning; `calls` is without it. */
export function shouldWarn(calls: readonly CallRecord[], record: CallRecord): boolean {
  return !exemptTools.includes(record.tool) && countSame(calls, record) >= warnAtRepeat
}

/** Pure. The window with one more call. A skipped call is recorded with the hash of the last result, and counts. */
export function recordCall(calls: readonly CallRecord[], record: CallRecord): readonly CallRecord[] {
  return [...calls, record].slice(-windowCalls)
}

/** Pure. The result of the latest call with the same tool and parameters inside the window; null when none. */
export function lastResultHash(
  calls: readonly CallRecord[],
  call: { tool: string; paramsHash: string },
): string | null {
  const same = calls.filter((past) => past.tool === call.tool && past.paramsHash === call.paramsHash)
  return same.at(-1)?.resultHash ?? null
}

function countSame(calls: readonly CallRecord[], record: CallRecord): number {
  return calls.filter(
    (past) =>
      past.tool === record.tool &&
      past.paramsHash === record.paramsHash &&
      past.resultHash === record.resultHash,
  ).length
}
