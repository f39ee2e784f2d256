import { inOneGo, stepUnits } from '@flotilla/protocol/secret-text/in-steps'
import type { Steps } from '@flotilla/protocol/secret-text/in-steps'
import type { Secret } from './secret.ts'

/**
 * Shapes of keys that providers repeat in their error texts, complete or masked with stars, and of personal tokens.
 * Each entry gives the short beginning of a key and, in the order of these groups, the characters that end it. The
 * cost of a step does not depend on the key's length. White space of any length may follow `Bearer`.
 */
const keyBegins =
  /\b(?:((?:sk|pk|rk|gsk|xai|key)-[\w*.…-]{6})|(AIza[\w-]{20}|flp_[\w-]{16})|(gh[opsu]_\w{16})|Bearer\s)/gu
const keyEnds = [/[^\w*.…-]/u, /[^\w-]/u, /\W/u] as const
const bearer = { blankEnds: /\S/u, key: /^[\w.~+/=-]{8}/u, ends: /[^\w.~+/=-]/u } as const
/** A number of UTF-16 code units that is greater than the length of every beginning of a key. */
const beginMaxUnits = 32

/** Shorter values are not removed, because they could be part of ordinary words. */
const secretMinChars = 6

/** Removes the given secrets, and everything that looks like a key, from external text. Pure. */
export function redact(text: string, secrets: readonly Secret[]): string {
  return inOneGo(redactInSteps(text, secrets))
}

/** Does the work of `redact` in steps, for a text of any length. Pure. */
export function* redactInSteps(text: string, secrets: readonly Secret[]): Steps<string> {
  let clean = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value.length >= secretMinChars) clean = yield* without(clean, value)
  }
  return yield* withoutKeys(clean)
}

function* without(text: string, value: string): Steps<string> {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    // The slice is long enough for a value that begins at the last unit of this step.
    const at = text.slice(from, from + stepUnits + value.length - 1).indexOf(value)
    const to = at === -1 ? Math.min(text.length, from + stepUnits) : from + at
    parts.push(text.slice(from, to), ...(at === -1 ? [] : ['[secret]']))
    from = at === -1 ? to : to + value.length
    yield at === -1 ? stepUnits : at + value.length
  }
  return parts.join('')
}

function* withoutKeys(text: string): Steps<string> {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    const to = Math.min(text.length, from + stepUnits)
    const begin = nextBegin(text, from, to)
    parts.push(text.slice(from, begin?.at ?? to))
    yield (begin?.at ?? to) - from
    from = begin === null ? to : yield* keyEnd(text, begin, parts)
  }
  return parts.join('')
}

interface KeyBegin {
  readonly at: number
  /** The index after the part of the key that `keyBegins` matched. */
  readonly to: number
  /** Matches the first character after the key; null after `Bearer`. */
  readonly ends: RegExp | null
}

/** Finds the first key that begins between `from` and `to`. */
function nextBegin(text: string, from: number, to: number): KeyBegin | null {
  // Includes the character before, which shows whether a word begins at `from`, and the longest beginning of a key.
  const before = from === 0 ? 0 : 1
  keyBegins.lastIndex = before
  const found = keyBegins.exec(text.slice(from - before, to + beginMaxUnits))
  const at = from - before + (found?.index ?? 0)
  if (found === null || at >= to) return null
  const group = found.slice(1).findIndex((one) => one !== undefined)
  return { at, to: at + found[0].length, ends: keyEnds[group] ?? null }
}

/** Returns the index at which the text continues after the key, and adds the replacement to `parts`. */
function* keyEnd(text: string, { at, to, ends }: KeyBegin, parts: string[]): Steps<number> {
  const key = ends === null ? yield* nextSign(text, to, bearer.blankEnds) : to
  if (ends === null && !bearer.key.test(text.slice(key, key + beginMaxUnits))) {
    parts.push(text.slice(at, key))
    return key
  }
  parts.push('[secret]')
  return yield* nextSign(text, key, ends ?? bearer.ends)
}

/** Returns the index of the first character from `from` on that matches `sign`, or the end of the text. */
function* nextSign(text: string, from: number, sign: RegExp): Steps<number> {
  for (let start = from; start < text.length; start += stepUnits) {
    const piece = text.slice(start, start + stepUnits)
    const found = piece.search(sign)
    yield found === -1 ? piece.length : found
    if (found !== -1) return start + found
  }
  return text.length
}
