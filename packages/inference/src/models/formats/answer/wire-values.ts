import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJson, readJsonAsWritten, readJsonQuietly } from '@flotilla/foundation/intake'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { isRecord } from '../empty-answer.ts'
import { excerptOf } from './answer-frames.ts'
import { jsonTextsIn } from './json-texts.ts'
import { mendJson } from './mend-json.ts'
import { unreadable } from './unreadable.ts'

type Members = Readonly<Record<string, unknown>>

/** One object of an answer. */
export interface WireValue {
  readonly value: Members
  /** The object in `value`, but with numbers beyond the precision of a float as their original digits. */
  readonly written: unknown
}

/**
 * The most nested string encodings that are decoded: some servers encode an answer twice, none is known to do
 * more.
 */
const encodingsMax = 3
/** Detects long numeric ids and arguments that are not strings: they are printed again and must keep all digits. */
const keepsNumbers = /"\w*(?:arguments|parameters|params|input|args)\w*"\s*:\s*[{[]|"id"\s*:\s*-?\d{16}/i
/** Members in which some gateways wrap the answer. */
const envelopes = ['result', 'data', 'response', 'output', 'body'] as const

/** Returns the objects in one text of an answer: one, or all of a list. Problem `provider-unreadable`. Pure. */
export function wireValues(text: string, secrets: readonly Secret[]): readonly WireValue[] {
  const source = readable(text, secrets)
  const values = listed(source.value)
  const written = keepsNumbers.test(source.text)
    ? listed(readJsonAsWritten(source.text, jsonLimits.modelAnswer))
    : values
  return values.flatMap((value, at) => {
    if (value === null) return []
    if (!isRecord(value)) throw unreadable('the answer is not a JSON object')
    return [{ value: unwrapped(value, 'choices'), written: unwrapped(written[at], 'choices') }]
  })
}

/** Returns the JSON text (repaired or decoded if necessary) and its value. */
function readable(text: string, secrets: readonly Secret[], depth = 1): { text: string; value: unknown } {
  const parsed = parsedOrMended(text)
  if (parsed === null) throw unreadable(`the answer is not JSON: ${redact(excerptOf(text), secrets)}`)
  const { value } = parsed
  return typeof value === 'string' && depth < encodingsMax
    ? readable(value.trim(), secrets, depth + 1)
    : parsed
}

function parsedOrMended(text: string): { text: string; value: unknown } | null {
  try {
    return { text, value: readJson(text, jsonLimits.modelAnswer) }
  } catch (error) {
    if (error instanceof Problem && error.code === 'body-too-large') throw unreadable(error.detail)
  }
  for (const mended of [joinedEvents(text), mendJson(text, { numbers: true })]) {
    const value = mended === text ? undefined : readJsonQuietly(mended, jsonLimits.modelAnswer)
    if (value !== undefined) return { text: mended, value }
  }
  return null
}

/** What may separate two objects of one data line: the field of an event whose line end was lost, or a mark. */
const lostLineEnd = /^(?:\s|data:|\[DONE\])+/
const doneText = /^\[done\]$/i
/** The most events without a line end between them that are read from one text. */
const joinedMax = 4096

/** Returns the objects of one text as a list, if only lost line ends separate them; else the text. */
function joinedEvents(text: string): string {
  const all: string[] = []
  let rest = text
  for (let pieces = 0; pieces < joinedMax; pieces++) {
    const { texts, rest: behind } = jsonTextsIn(rest)
    for (const one of texts) if (!doneText.test(one)) all.push(one)
    const lost = lostLineEnd.exec(behind)?.[0] ?? ''
    rest = behind.slice(lost.length)
    if (rest === '') return `[${all.join(',')}]`
    if (lost === '') return text
  }
  return text
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

/** Returns the answer without the envelope in whose member some gateways put the whole answer. Pure. */
export function unwrapped<V>(value: V, member: 'choices' | 'candidates' | 'output'): V {
  if (!isRecord(value) || value[member] !== undefined) return value
  for (const name of envelopes) {
    const inner = value[name]
    if (isRecord(inner) && typeof inner[member] === 'object' && inner[member] !== null)
      return { ...value, ...inner }
  }
  return value
}
