/** Units of a text that are gone through in one step of the work. */
export const stepUnits = 32 * 1024

/** Work on a text that says at each `yield` how many units it has gone through since the last: `stepUnits`, or a few more. */
export type Steps<T> = Generator<number, T, void>

/** All of it in one go, for a text whose length is bounded already. */
export function inOneGo<T>(work: Steps<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** Does `each` from 0 to `length`, a step at a time; `each` says where it goes on. */
export function* through(length: number, each: (from: number, to: number) => number): Steps<void> {
  for (let from = 0; from < length;) {
    const to = each(from, Math.min(length, from + stepUnits))
    yield to - from
    from = to
  }
}
