/**
 * Lets long work of several agents and people take turns on the event loop: one step at a time, and between two steps
 * the loop serves other events.
 */
export interface LoopTurns {
  /** Resolves when this worker may run one step. The worker that has waited longest goes first, one step each. */
  next(worker: string): Promise<void>
}

/** Between steps, the loop is free for as long as the last step took, at most this many milliseconds. */
const gapMaxMs = 50
/** After a step below this time, in milliseconds, the next step waits only until pending events were served. */
const shortStepMs = 1

export function createLoopTurns(deps: { readonly cpuMs: () => number }): LoopTurns {
  const waiting = new Map<string, (() => void)[]>()
  let isRunning = false

  /** Takes the first entry of the next worker, which moves to the end of the queue if it has more. */
  function takeNext(): (() => void) | null {
    const [first] = waiting
    if (first === undefined) return null
    const [worker, steps] = first
    const step = steps.shift() ?? null
    waiting.delete(worker)
    if (steps.length > 0) waiting.set(worker, steps)
    return step
  }

  function runOne(): void {
    const step = takeNext()
    if (step === null) {
      isRunning = false
      return
    }
    const before = deps.cpuMs()
    step()
    // The step itself runs in the microtasks that follow, before the loop continues.
    setImmediate(() => {
      const tookMs = deps.cpuMs() - before
      if (tookMs < shortStepMs) runOne()
      else setTimeout(runOne, Math.min(tookMs, gapMaxMs))
    })
  }

  return {
    next: (worker) =>
      new Promise((resolve) => {
        const steps = waiting.get(worker)
        if (steps === undefined) waiting.set(worker, [resolve])
        else steps.push(resolve)
        if (isRunning) return
        isRunning = true
        setImmediate(runOne)
      }),
  }
}
