import { wireLimits } from '@flotilla/protocol/limits'
import { compileTokens } from './pattern-automaton.ts'
import type { Token } from './pattern-automaton.ts'
import type { PatternRun } from './run-states.ts'
import { createPatternCache } from './pattern-cache.ts'
import type { CompiledPattern } from './pattern-cache.ts'

/**
 * Two kinds of patterns, matched without regular expressions and without backtracking, so that no pattern can be
 * slow: see `pattern-automaton.ts`. Pure.
 */

/**
 * Whether a permission list of exact names allows `name`; a lone `*` means everything.
 */
export function listAllows(names: readonly string[], name: string): boolean {
  return names.some((allowed) => allowed === '*' || allowed === name)
}

/** Returns a blackboard key in the canonical form for pattern matching, or null for an invalid key. Pure. */
export function normalizeKey(key: string): string | null {
  if (key.length > wireLimits.blackboardKeyMaxChars) return null
  const composed = key.normalize('NFC')
  return emptyOrDotSegment.test(composed) ? null : composed
}
const emptyOrDotSegment = /(?:^|\/)\.{0,2}(?:\/|$)/

/** Returns a function that tests whether a pattern matches this key, which is normalized only once. Pure. */
export function keyMatcher(key: string): (pattern: string) => boolean {
  const normalized = normalizeKey(key)
  return (pattern) =>
    normalized !== null && (pattern === '*' || runOf(keyPatterns.of(pattern), normalized).matches)
}

/** Whether a pattern matches the key. A lone `*` matches all; in longer ones `*` stays below `/`, `**` crosses it. */
export function keyMatches(pattern: string, key: string): boolean {
  return keyMatcher(key)(pattern)
}

/** Matches like fnmatch, for credentials: `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`; case does not matter. */
export function credentialMatches(pattern: string, name: string): boolean {
  return runOf(credentialPatterns.of(pattern), name.toLowerCase()).matches
}

/** The cost of matching in steps of the automaton, for benchmarks and a test of its bound. */
export function matchingSteps(kind: 'key' | 'credential', pattern: string, text: string): number {
  return runOf((kind === 'key' ? keyPatterns : credentialPatterns).of(pattern), text).steps
}

function runOf({ begins, automaton }: CompiledPattern, text: string): PatternRun {
  // A prefix comparison excludes most patterns cheaply.
  return text.startsWith(begins) ? automaton.run(text) : { matches: false, steps: 0 }
}

/** Memory for compiled patterns of each kind in bytes: lists of the maximum length of about twenty agents. */
export const compiledMaxBytes = 32 * 1024 * 1024
/** A pattern may be replaced in the cache after this many lookups of other patterns: several thousand decisions. */
const idleLookups = 1_000_000

const keyPatterns = createPatternCache({
  tokensOf: (pattern) => keyTokens(pattern.normalize('NFC')),
  bytesMax: compiledMaxBytes,
  idleLookups,
})
const credentialPatterns = createPatternCache({
  tokensOf: (pattern) => fnmatchTokens(pattern.toLowerCase()),
  bytesMax: compiledMaxBytes,
  idleLookups,
})

/** How often patterns of a kind were compiled, and their memory, for tests of their bounds. */
export function compilingUse(kind: 'key' | 'credential'): {
  readonly compiled: number
  readonly bytes: number
} {
  return (kind === 'key' ? keyPatterns : credentialPatterns).use()
}

/** Compiles an fnmatch pattern for many file names. Case matters; a leading dot must be written, as in a shell. */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  const composed = pattern.normalize('NFC')
  const matches = compileWithEnds(composed, fnmatchTokens(composed))
  const takesDots = composed.startsWith('.')
  return (name) => {
    const text = name.normalize('NFC')
    return (takesDots || !text.startsWith('.')) && matches(text)
  }
}

/**
 * Compiles a pattern for names, for a rule that decides about many: `*`, `?` and sets as in fnmatch, and case does not
 * matter. Unlike a file name, a leading dot needs no pattern of its own.
 */
export function compileWordPattern(pattern: string): (word: string) => boolean {
  const matches = compileFoldedPattern(pattern)
  return (word) => matches(word.toLowerCase())
}

/** Like `compileWordPattern`, for words that are in lower case already. */
export function compileFoldedPattern(pattern: string): (word: string) => boolean {
  const folded = pattern.toLowerCase()
  return compileWithEnds(folded, fnmatchTokens(folded))
}

/** Compiles a pattern for the path of an address: `*` stays within a segment, `**` crosses segments. */
export function compilePathPattern(pattern: string): (path: string) => boolean {
  return compileWithEnds(pattern, keyTokens(pattern))
}

/**
 * Compares the literal ends of a text, and looks for the longest literal between them, before the automaton runs: one
 * rule of many is then excluded in some ten nanoseconds.
 */
function compileWithEnds(pattern: string, tokens: readonly Token[]): (text: string) => boolean {
  const from = tokens.findIndex((token) => token.kind !== 'literal')
  if (from === -1) return (text) => text === pattern
  const to = tokens.findLastIndex((token) => token.kind !== 'literal')
  const begins = pattern.slice(0, from)
  const ends = pattern.slice(pattern.length - (tokens.length - 1 - to))
  const between = tokens.slice(from, to + 1)
  const takesAnything = between.every((token) => token.kind === 'many')
  const crossesSlash = between.some((token) => token.kind === 'many' && token.crossesSlash)
  const inner = longestLiteral(between)
  const automaton = compileTokens(between)
  return (text) => {
    if (text.length < begins.length + ends.length || !text.startsWith(begins) || !text.endsWith(ends))
      return false
    if (takesAnything && crossesSlash) return true
    if (inner !== '' && !text.includes(inner)) return false
    const middle = text.slice(begins.length, text.length - ends.length)
    return takesAnything ? !middle.includes('/') : automaton.run(middle).matches
  }
}

function longestLiteral(tokens: readonly Token[]): string {
  let longest = ''
  let current = ''
  for (const token of tokens) {
    current = token.kind === 'literal' ? current + token.character : ''
    if (current.length > longest.length) longest = current
  }
  return longest
}

function keyTokens(pattern: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < pattern.length; at++) {
    const atSegmentStart = at === 0 || pattern[at - 1] === '/'
    if (atSegmentStart && pattern.startsWith('**/', at)) {
      tokens.push({ kind: 'segments' })
      at += 2
    } else if (pattern.startsWith('**', at)) {
      tokens.push({ kind: 'many', crossesSlash: true })
      at += 1
    } else if (pattern[at] === '*') {
      tokens.push({ kind: 'many', crossesSlash: false })
    } else {
      tokens.push({ kind: 'literal', character: pattern[at] ?? '' })
    }
  }
  return tokens
}

function fnmatchTokens(pattern: string): Token[] {
  const tokens: Token[] = []
  const lastClosing = pattern.lastIndexOf(']')
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] ?? ''
    const set = character === '[' && at < lastClosing ? readSet(pattern, at) : null
    if (set) {
      tokens.push(set.token)
      at = set.end
    } else if (character === '*') tokens.push({ kind: 'many', crossesSlash: true })
    else if (character === '?') tokens.push({ kind: 'any' })
    else tokens.push({ kind: 'literal', character })
  }
  return tokens
}

/** As in fnmatch, an unclosed bracket is a plain character, and so is a `]` in first place. */
function readSet(pattern: string, start: number): { token: Token; end: number } | null {
  const negated = pattern[start + 1] === '!'
  const first = start + (negated ? 2 : 1)
  const end = pattern.indexOf(']', first + 1)
  if (end === -1) return null
  const ranges: [string, string][] = []
  for (let at = first; at < end; at++) {
    const from = pattern[at] ?? ''
    const isRange = pattern[at + 1] === '-' && at + 2 < end
    ranges.push([from, isRange ? (pattern[at + 2] ?? '') : from])
    if (isRange) at += 2
  }
  return { token: { kind: 'set', negated, ranges }, end }
}
