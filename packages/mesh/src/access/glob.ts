/**
 * Two kinds of patterns, matched without regular expressions so that no pattern can be slow: the work is bounded
 * by pattern length times text length. Pure.
 */

type Token =
  | { readonly kind: 'literal'; readonly character: string }
  /** One character; fnmatch only. */
  | { readonly kind: 'any' }
  | {
      readonly kind: 'set'
      readonly negated: boolean
      readonly ranges: readonly (readonly [string, string])[]
    }
  /** Any number of characters, across `/` or not. */
  | { readonly kind: 'many'; readonly crossesSlash: boolean }
  /** `**` and its slash: nothing, or whole segments. */
  | { readonly kind: 'segments' }

/**
 * Whether a permission list of exact names allows `name`; a lone `*` means everything.
 */
export function listAllows(names: readonly string[], name: string): boolean {
  return names.some((allowed) => allowed === '*' || allowed === name)
}

/** A blackboard key in the one form that patterns are matched against, or null for what is no key. */
export function normalizeKey(key: string): string | null {
  const composed = key.normalize('NFC')
  const segments = composed.split('/')
  return segments.some((segment) => segment === '' || segment === '.' || segment === '..') ? null : composed
}

/** A lone `*` matches every key; inside a longer pattern `*` does not cross `/` and `**` does. Nothing else is special. */
export function keyMatches(pattern: string, key: string): boolean {
  const normalized = normalizeKey(key)
  if (normalized === null) return false
  if (pattern === '*') return true
  return tokensMatch(keyTokens(pattern.normalize('NFC')), normalized)
}

/** fnmatch as credentials use it: `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`, and case does not matter. */
export function credentialMatches(pattern: string, name: string): boolean {
  return tokensMatch(fnmatchTokens(pattern.toLowerCase()), name.toLowerCase())
}

/**
 * fnmatch over file names, made once and asked of many: case matters, and a leading dot must be written, as in a shell.
 */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  const composed = pattern.normalize('NFC')
  const tokens = fnmatchTokens(composed)
  const from = tokens.findIndex((token) => token.kind !== 'literal')
  if (from === -1) return (name) => name.normalize('NFC') === composed
  const to = tokens.findLastIndex((token) => token.kind !== 'literal')
  // Most patterns are `*.ending`: both ends are compared first, and often nothing is left.
  const begins = composed.slice(0, from)
  const ends = composed.slice(composed.length - (tokens.length - 1 - to))
  const between = tokens.slice(from, to + 1)
  const takesAnything = between.every((token) => token.kind === 'many')
  return (name) => {
    const text = name.normalize('NFC')
    if (text.startsWith('.') && !composed.startsWith('.')) return false
    if (text.length < begins.length + ends.length || !text.startsWith(begins) || !text.endsWith(ends))
      return false
    return takesAnything || tokensMatch(between, text.slice(begins.length, text.length - ends.length))
  }
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
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] ?? ''
    const set = character === '[' ? readSet(pattern, at) : null
    if (set) {
      tokens.push(set.token)
      at = set.end
    } else if (character === '*') tokens.push({ kind: 'many', crossesSlash: true })
    else if (character === '?') tokens.push({ kind: 'any' })
    else tokens.push({ kind: 'literal', character })
  }
  return tokens
}

/** A bracket that is never closed is a plain character, and so is a `]` in first place, as fnmatch has it. */
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

/** Which lengths of the text the tokens so far can have consumed, one token at a time. */
function tokensMatch(tokens: readonly Token[], text: string): boolean {
  let reachable = new Uint8Array(text.length + 1)
  reachable[0] = 1
  for (const token of tokens) {
    const next = new Uint8Array(text.length + 1)
    for (let at = 0; at <= text.length; at++) {
      if (reachable[at] === 1) advance(token, text, { at, next })
    }
    reachable = next
  }
  return reachable[text.length] === 1
}

function advance(token: Token, text: string, step: { at: number; next: Uint8Array }): void {
  const { at, next } = step
  const character = text[at]
  switch (token.kind) {
    case 'literal':
      if (character === token.character) next[at + 1] = 1
      return
    case 'any':
      if (character !== undefined) next[at + 1] = 1
      return
    case 'set':
      if (character !== undefined && isInSet(token.ranges, character) !== token.negated) next[at + 1] = 1
      return
    case 'many':
      for (let end = at; end <= text.length && next[end] === 0; end++) {
        next[end] = 1
        if (text[end] === '/' && !token.crossesSlash) return
      }
      return
    case 'segments':
      next[at] = 1
      for (let end = at; end < text.length; end++) if (text[end] === '/') next[end + 1] = 1
  }
}

function isInSet(ranges: readonly (readonly [string, string])[], character: string): boolean {
  return ranges.some(([from, to]) => from <= character && character <= to)
}
