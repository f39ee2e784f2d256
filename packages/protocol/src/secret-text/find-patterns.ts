import { through } from './in-steps.ts'
import type { Steps } from './in-steps.ts'

/** The minimum length of every pattern, in units; all patterns are searched for at once by their first units. */
export const patternMinUnits = 8

/** `from` to `to` (exclusive) in the units that were searched, and which pattern it was. */
export interface Occurrence {
  readonly pattern: number
  readonly from: number
  readonly to: number
}

const hashBase = 0x01000193
const sieveSize = 1 << 16

/**
 * Finds patterns in a long text: one pass over the text for the beginnings of all of them, and one more for each
 * beginning that was found. Linear in the text, whatever it contains.
 */
export interface PatternFinder {
  find(units: Uint16Array): Steps<readonly Occurrence[]>
}

export function createPatternFinder(patterns: readonly Uint16Array[]): PatternFinder {
  const sieve = new Uint8Array(sieveSize)
  const byHash = new Map<number, number[]>()
  for (const [index, pattern] of patterns.entries()) {
    const hash = hashOf(pattern)
    sieve[slotOf(hash)] = 1
    byHash.set(hash, [...(byHash.get(hash) ?? []), index])
  }
  return {
    *find(units) {
      const found: Occurrence[] = []
      for (const index of yield* beginningsIn(units, { sieve, byHash })) {
        const pattern = patterns[index]
        if (pattern) for (const one of yield* occurrences(units, { index, pattern })) found.push(one)
      }
      return found
    },
  }
}

/** The patterns whose beginning occurs in the text. */
function* beginningsIn(
  units: Uint16Array,
  table: { readonly sieve: Uint8Array; readonly byHash: ReadonlyMap<number, readonly number[]> },
): Steps<ReadonlySet<number>> {
  const seen = new Set<number>()
  if (units.length < patternMinUnits || table.byHash.size === 0) return seen
  let leaving = 1
  for (let n = 0; n < patternMinUnits; n++) leaving = Math.imul(leaving, hashBase)
  let hash = hashOf(units)
  yield* through(units.length - patternMinUnits + 1, (from, to) => {
    for (let at = from; at < to; at++) {
      if (table.sieve[slotOf(hash)] === 1) for (const index of table.byHash.get(hash) ?? []) seen.add(index)
      const next = units[at + patternMinUnits] ?? 0
      hash = (Math.imul(hash, hashBase) + next - Math.imul(units[at] ?? 0, leaving)) | 0
    }
    return to
  })
  return seen
}

/** The algorithm of Knuth, Morris and Pratt. */
function* occurrences(
  units: Uint16Array,
  search: { readonly index: number; readonly pattern: Uint16Array },
): Steps<readonly Occurrence[]> {
  const { index, pattern } = search
  const fallback = fallbacksOf(pattern)
  const found: Occurrence[] = []
  let matched = 0
  yield* through(units.length, (from, to) => {
    for (let at = from; at < to; at++) {
      while (matched > 0 && units[at] !== pattern[matched]) matched = fallback[matched - 1] ?? 0
      if (units[at] === pattern[matched]) matched++
      if (matched < pattern.length) continue
      add(found, { pattern: index, from: at + 1 - matched, to: at + 1 })
      matched = fallback[matched - 1] ?? 0
    }
    return to
  })
  return found
}

/** Overlapping occurrences are merged, so that a text of one letter does not give one occurrence per letter. */
function add(found: Occurrence[], next: Occurrence): void {
  const last = found.at(-1)
  if (last && next.from <= last.to) found[found.length - 1] = { ...last, to: next.to }
  else found.push(next)
}

function fallbacksOf(pattern: Uint16Array): Uint32Array {
  const fallback = new Uint32Array(pattern.length)
  let matched = 0
  for (let at = 1; at < pattern.length; at++) {
    while (matched > 0 && pattern[at] !== pattern[matched]) matched = fallback[matched - 1] ?? 0
    if (pattern[at] === pattern[matched]) matched++
    fallback[at] = matched
  }
  return fallback
}

function hashOf(units: Uint16Array): number {
  let hash = 0
  for (let at = 0; at < patternMinUnits; at++) hash = (Math.imul(hash, hashBase) + (units[at] ?? 0)) | 0
  return hash
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (sieveSize - 1)
}
