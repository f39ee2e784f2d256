/** Repeatable pseudo-random numbers from a seed. Only for test plans; not for secrets. */
export interface Chance {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number
  /** Returns a whole number between both bounds, both included. */
  between(least: number, most: number): number
  pick<T>(from: readonly T[]): T
  /** Returns true in `often` of 100 cases. */
  percent(often: number): boolean
  /** Returns an independent sequence, so that an additional reader does not change the numbers of the others. */
  fork(name: string): Chance
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0
  // Mulberry32: short, evenly distributed, and the same on every machine.
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
