import { limits } from '@flotilla/protocol/limits'

/** One call that was made, as far as repetition goes: hashes, never contents. */
export interface CallRecord {
  readonly tool: string
  readonly paramsHash: string
  readonly resultHash: string
}

/** A call as the model asks for it. */
export type AskedCall = Omit<CallRecord, 'resultHash'>

/** What happens to a loop: a call is asked for, or one that was made has given its result. */
type LoopEvent =
  | { readonly kind: 'asked'; readonly call: AskedCall }
  | { readonly kind: 'ended'; readonly call: CallRecord }

/**
 * `run` and go on; `warn` after this result; `block`: the call is skipped with an error; `terminate`: the loop ends as
 * failed.
 */
type LoopVerdict = 'run' | 'warn' | 'block' | 'terminate'

interface LoopStep {
  /** The windows from now on, all in the order of their calls. */
  readonly calls: readonly CallRecord[]
  readonly verdict: LoopVerdict
}

/** Tools whose repetition means nothing (ARCHITECTURE 6.1). */
const exemptTools: readonly string[] = ['memory_search']

/**
 * Different calls, by tool and parameters, that are remembered; those made longest ago are forgotten first. A circle of
 * so many calls is seen; a longer one is ended by the bound of rounds alone.
 */
export const loopPeriodMax = 100

const { warnAtRepeat, blockAtRepeat, terminateAtRepeat, windowCalls } = limits.toolLoop

/**
 * The transition of the loop detector, for every mode and for calls of one answer as for calls of many: they are asked
 * for one after the other. A call that was made n times with the result it gave last is its n-th repeat. One that is
 * skipped is recorded with that result, and counts. Pure.
 */
export function stepLoop(calls: readonly CallRecord[], event: LoopEvent): LoopStep {
  const { call } = event
  const isExempt = exemptTools.includes(call.tool)
  if (event.kind === 'ended') {
    const repeats = isExempt ? 0 : countSame(calls, event.call)
    return { calls: withCall(calls, event.call), verdict: repeats >= warnAtRepeat ? 'warn' : 'run' }
  }
  const last = lastResultHash(calls, call)
  if (last === null || isExempt) return { calls, verdict: 'run' }
  const again = { ...call, resultHash: last }
  const repeats = countSame(calls, again)
  if (repeats >= terminateAtRepeat) return { calls, verdict: 'terminate' }
  return repeats >= blockAtRepeat
    ? { calls: withCall(calls, again), verdict: 'block' }
    : { calls, verdict: 'run' }
}

/**
 * Each tool with its parameters has a window of its own: in a common one, a few other calls would push out what makes a
 * circle seen.
 */
function withCall(calls: readonly CallRecord[], call: CallRecord): readonly CallRecord[] {
  const counts = new Map<string, number>()
  const newestFirst = [...calls, call].toReversed().filter((record) => {
    const key = `${record.tool} ${record.paramsHash}`
    const count = counts.get(key) ?? 0
    if (count === windowCalls || (count === 0 && counts.size === loopPeriodMax)) return false
    counts.set(key, count + 1)
    return true
  })
  return newestFirst.toReversed()
}

/** The result of the latest call with the same tool and parameters; null when none is remembered. */
function lastResultHash(calls: readonly CallRecord[], call: AskedCall): string | null {
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
