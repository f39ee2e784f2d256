import { compileTokens } from './pattern-automaton.ts'
import type { PatternAutomaton, Token } from './pattern-automaton.ts'

export interface CompiledPattern {
  /** The prefix of every matching text. */
  readonly begins: string
  readonly automaton: PatternAutomaton
}

/**
 * Keeps patterns compiled, up to a limit of memory.
 *
 * 1. When the memory is full, a pattern that was not used for `idleLookups` makes room for a new one.
 * 2. If all patterns are in use, a new one is compiled for each of its lookups. A cache that replaced the oldest
 *    would compile all patterns again at each decision once the lists of all agents together exceed it.
 */
export interface PatternCache {
  readonly of: (pattern: string) => CompiledPattern
  /** How often a pattern was compiled, and the memory of all stored ones. */
  readonly use: () => { readonly compiled: number; readonly bytes: number }
}

export function createPatternCache(deps: {
  readonly tokensOf: (pattern: string) => readonly Token[]
  readonly bytesMax: number
  readonly idleLookups: number
}): PatternCache {
  /** The least recently used pattern is the first. */
  const stored = new Map<string, StoredPattern>()
  let bytes = 0
  let lookups = 0
  let compiled = 0

  function makeRoom(needed: number): boolean {
    for (const [pattern, { usedAt, weight }] of stored) {
      if (bytes + needed <= deps.bytesMax || lookups - usedAt <= deps.idleLookups) break
      stored.delete(pattern)
      bytes -= weight
    }
    return bytes + needed <= deps.bytesMax
  }

  return {
    of(pattern) {
      lookups++
      const known = stored.get(pattern)
      if (known !== undefined) {
        known.usedAt = lookups
        stored.delete(pattern)
        stored.set(pattern, known)
        return known
      }
      compiled++
      const tokens = deps.tokensOf(pattern)
      const begins = literalStart(tokens)
      const automaton = compileTokens(tokens)
      const weight = automaton.bytesMax + 2 * (pattern.length + begins.length) + entryBytes
      const fresh: StoredPattern = { begins, automaton, weight, usedAt: lookups }
      if (makeRoom(weight)) {
        stored.set(pattern, fresh)
        bytes += weight
      }
      return fresh
    },
    use: () => ({ compiled, bytes }),
  }
}

/** The memory of an entry beside its tables and texts, in bytes. */
const entryBytes = 512

interface StoredPattern extends CompiledPattern {
  /** Its memory in bytes. */
  readonly weight: number
  /** The number of its last lookup. */
  usedAt: number
}

function literalStart(tokens: readonly Token[]): string {
  let start = ''
  for (const token of tokens) {
    if (token.kind !== 'literal') break
    start += token.character
  }
  return start
}
