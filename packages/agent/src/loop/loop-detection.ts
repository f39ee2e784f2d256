/** One finished call as the loop detector sees it: hashes, never contents. */
export interface CallRecord {
  readonly tool: string
  readonly paramsHash: string
  readonly resultHash: string
}

/** A call as the model requests it. */
export type AskedCall = Omit<CallRecord, 'resultHash'>

/** An event of the loop: a call is requested, or a finished call has a result. */
type LoopEvent =
  | { readonly kind: 'asked'; readonly call: AskedCall }
  | { readonly kind: 'ended'; readonly call: CallRecord }

/**
 * `run`: go on; `warn` after this result; `block`: the call is skipped with an error; `terminate`: the loop
 * ends as failed.
 */
type LoopVerdict = 'run' | 'warn' | 'block' | 'terminate'

interface LoopStep {
  /** The windows after the event, in the order of their calls. */
  readonly calls: readonly CallRecord[]
  readonly verdict: LoopVerdict
}

/** Tools whose repetition is harmless. */
const exemptTools: readonly string[] = ['memory_search']

/**
 * Number of different calls, by tool and parameters, that are remembered; the oldest are forgotten first. A
 * cycle of up to this many calls is detected; a longer one is ended only by the limit of rounds.
 */
export const loopPeriodMax = 100

// limits:tool-loop
const warnAtRepeat = 2
const blockAtRepeat = 4
const terminateAtRepeat = 9
const windowCalls = 15

/** The maximum number of remembered calls over all tools and parameters. */
export const callRecordsMax = loopPeriodMax * windowCalls

/**
 * Returns the loop detector's windows and verdict after an event, in every mode. Calls of one answer count like calls
 * of several answers. A call made n times with its latest result is its n-th repeat. A skipped call is recorded with
 * that result, and counts. Pure.
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
 * Each tool with its parameters has its own window: in a common one, a few other calls would push out the
 * calls that reveal a cycle.
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

/** The result of the latest call with the same tool and parameters; null if none is remembered. */
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
