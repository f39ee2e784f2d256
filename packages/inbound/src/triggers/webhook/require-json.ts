import { jsonDepthMax } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

/** The parser states, each of which says what may come next. */
const wantsValue = 0
const wantsValueOrEnd = 1
const wantsNameOrEnd = 2
const wantsName = 3
const wantsColon = 4
const wantsNext = 5

/** A JSON number. */
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/**
 * Checks that a text is JSON and not nested deeper than `jsonDepthMax`, in one pass without building a value. Parsing
 * a megabyte of objects takes eight times as long. Throws Problem `bad-request` for the depth, SyntaxError for
 * anything that `JSON.parse` rejects. Pure.
 */
export function requireJson(text: string): void {
  /** The expected closing brackets, innermost last. */
  const due: string[] = []
  let wants = wantsValue
  for (let at = afterBlanks(text, 0); at < text.length; at = afterBlanks(text, at)) {
    const character = text[at] ?? ''
    if (wants === wantsNext) {
      if (character === ',') wants = due.at(-1) === '}' ? wantsName : wantsValue
      else if (character !== due.pop()) throw fault(at)
      at++
    } else if (wants === wantsColon) {
      if (character !== ':') throw fault(at)
      wants = wantsValue
      at++
    } else if (isEnd(wants, character)) {
      due.pop()
      wants = wantsNext
      at++
    } else if (wants === wantsName || wants === wantsNameOrEnd) {
      if (character !== '"') throw fault(at)
      at = afterString(text, at)
      wants = wantsColon
    } else if (character === '{' || character === '[') {
      due.push(character === '{' ? '}' : ']')
      if (due.length > jsonDepthMax) throw tooDeep()
      wants = character === '{' ? wantsNameOrEnd : wantsValueOrEnd
      at++
    } else {
      at = character === '"' ? afterString(text, at) : afterPlain(text, at)
      wants = wantsNext
    }
    if (wants === wantsNext && due.length === 0) {
      if (afterBlanks(text, at) !== text.length) throw fault(at)
      return
    }
  }
  throw fault(text.length)
}

function isEnd(wants: number, character: string): boolean {
  return (wants === wantsValueOrEnd && character === ']') || (wants === wantsNameOrEnd && character === '}')
}

function afterBlanks(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
  }
  return at
}

function afterString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code < 0x20) throw fault(at)
    at = code === 0x5c ? afterMatch(escape, text, at) : at + 1
  }
  throw fault(at)
}

function afterPlain(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (!isDigit(first)) {
    const word = literals[text[at] ?? '']
    if (word !== undefined && text.startsWith(word, at)) return at + word.length
    return afterMatch(number, text, at)
  }
  let end = at + 1
  while (isDigit(text.charCodeAt(end))) end++
  // Integers are checked without the regular expression, because that is faster.
  const isWhole = !'.eE'.includes(text[end] ?? ' ')
  return isWhole && (first !== 0x30 || end === at + 1) ? end : afterMatch(number, text, at)
}

const literals: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function afterMatch(form: RegExp, text: string, at: number): number {
  form.lastIndex = at
  if (!form.test(text)) throw fault(at)
  return form.lastIndex
}

function fault(at: number): SyntaxError {
  return new SyntaxError(`invalid JSON at character ${at}`)
}

function tooDeep(): Problem {
  return new Problem('bad-request', { detail: `the body is nested deeper than ${jsonDepthMax} levels` })
}
