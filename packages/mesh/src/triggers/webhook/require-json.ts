import { jsonDepthMax } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

/** What may come next. */
const wantsValue = 0
const wantsValueOrEnd = 1
const wantsNameOrEnd = 2
const wantsName = 3
const wantsColon = 4
const wantsNext = 5

/** Of a number, from where it begins. */
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/**
 * Refuses what is no JSON text, or is nested deeper than `jsonDepthMax`, by looking through it once and making nothing of
 * it: a megabyte of objects with names of their own takes eight times as long to parse. Problem `bad-request` for the
 * depth, SyntaxError for all else that `JSON.parse` refuses. Pure.
 */
export function requireJson(text: string): void {
  /** Closing brackets that are due, innermost last. */
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
    const word = words[text[at] ?? '']
    if (word !== undefined && text.startsWith(word, at)) return at + word.length
    return afterMatch(number, text, at)
  }
  let end = at + 1
  while (isDigit(text.charCodeAt(end))) end++
  // Most numbers are whole, and a pattern costs more than they do.
  const isWhole = !'.eE'.includes(text[end] ?? ' ')
  return isWhole && (first !== 0x30 || end === at + 1) ? end : afterMatch(number, text, at)
}

const words: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function afterMatch(form: RegExp, text: string, at: number): number {
  form.lastIndex = at
  if (!form.test(text)) throw fault(at)
  return form.lastIndex
}

function fault(at: number): SyntaxError {
  return new SyntaxError(`no JSON at character ${at}`)
}

function tooDeep(): Problem {
  return new Problem('bad-request', { detail: `the body is nested deeper than ${jsonDepthMax} levels` })
}
