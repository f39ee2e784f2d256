/** How many units of a text are processed in one step. */
export const stepUnits = 32 * 1024

/** Work on a text that yields the number of units processed since the last yield: `stepUnits`, or a few more. */
export type Steps<T> = Generator<number, T, void>

/** Runs all steps at once, for a text whose length is already bounded. */
export function inOneGo<T>(work: Steps<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** Calls `each` from 0 to `length`, step by step; `each` returns where to continue. */
export function* through(length: number, each: (from: number, to: number) => number): Steps<void> {
  for (let from = 0; from < length;) {
    const to = each(from, Math.min(length, from + stepUnits))
    yield to - from
    from = to
  }
}
