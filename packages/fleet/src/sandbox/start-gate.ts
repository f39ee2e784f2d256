/** The maximum number of waiting callers; above it, callers are rejected at once. */
const waitingMax = 2_000

/** Returns a function that runs up to `width` actions at once; others wait in order, above 2,000: `RangeError`. */
export function createStartGate(width: number): <Value>(action: () => Promise<Value>) => Promise<Value> {
  const waiting: (() => void)[] = []
  let inside = 0

  async function enter(): Promise<void> {
    if (inside < width) {
      inside += 1
      return
    }
    if (waiting.length >= waitingMax)
      throw new RangeError(`more than ${waitingMax} sandboxes wait for their start`)
    // A finished action lets the next caller in, so `inside` does not change.
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return async (action) => {
    await enter()
    try {
      return await action()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else inside -= 1
    }
  }
}
