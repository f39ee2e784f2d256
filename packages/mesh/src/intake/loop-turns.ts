/**
 * Lets long work of several agents and people take turns on the event loop: one step at a time, and between two steps the
 * loop serves whatever else is ready.
 */
export interface LoopTurns {
  /** Resolves when it is this worker's turn to do one step. Who has waited longest goes first, one step of each worker. */
  next(worker: string): Promise<void>
}

/** The loop is left to others for as long as the last step took, at most so long, milliseconds. */
const gapMaxMs = 50
/** A shorter step is followed by the next as soon as the loop has served what is ready, milliseconds. */
const shortStepMs = 1

export function createLoopTurns(deps: { readonly cpuMs: () => number }): LoopTurns {
  const waiting = new Map<string, (() => void)[]>()
  let isRunning = false

  /** The first of the worker that is next; it goes to the end of the row if it has more. */
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
    // The step itself is done in the microtasks that follow, before the loop goes on.
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
