/** Chance that a number repeats. Only for plans of tests: it is no secret. */
export interface Chance {
  /** From 0 up to and without 1. */
  next(): number
  /** A whole number between both, both included. */
  between(least: number, most: number): number
  pick<T>(from: readonly T[]): T
  /** True in so many of 100 cases. */
  percent(often: number): boolean
  /** Another chance that goes its own way from here, so that one reader more does not move the others. */
  fork(name: string): Chance
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0
  // Mulberry32: few lines, even, and the same on every machine.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    pick: (from) => {
      const found = from[between(0, from.length - 1)]
      if (found === undefined) throw new Error('there is nothing to pick from')
      return found
    },
    percent: (often) => next() * 100 < often,
    fork: (name) => createChance(Buffer.from(name).reduce((sum, byte) => Math.imul(sum, 31) + byte, seed)),
  }
}
