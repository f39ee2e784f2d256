import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { writtenNumber } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { Problem } from '@flotilla/protocol/problem'
import { badRequest } from '../json-body.ts'
import type { PromptFound } from './prompt-found.ts'

/** The state of one pass over a request: the current path, and what was found so far. */
export interface Reading {
  /** The path of the current value; the error of a rule names it. */
  readonly path: (string | number)[]
  readonly found: PromptFound
}

/**
 * Returns the part of a value that may be forwarded: the value itself if nothing is dropped. Throws `bad-request`.
 */
export type Rule = (value: JsonValue, reading: Reading) => JsonValue

/** How much of a name or value in a prompt is quoted in a problem, in characters. */
const shownMaxChars = 60

/** Returns an error with its place in front, as in `messages[3].content[1].type`. */
export function refused(reading: Reading, why: string): Problem {
  return badRequest(`${placeOf(reading.path)}: ${why}`)
}

export function placeOf(path: readonly (string | number)[]): string {
  const text = path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step.slice(0, shownMaxChars)}`))
    .join('')
  return text.replace(/^\./, '') || 'body'
}

/** Returns a value of the client, short enough to repeat in an error. */
export function shown(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string' || value.length <= shownMaxChars) return JSON.stringify(value)
  return `${JSON.stringify(value.slice(0, shownMaxChars))}…`
}

export const text: Rule = (value, reading) => {
  if (typeof value !== 'string') throw refused(reading, 'must be a text')
  return value
}

export const number: Rule = (value, reading) => {
  // Data for the model keeps its digits, but a parameter is used as a number.
  const written = writtenNumber(value)
  if (written !== null) return number(Number(written), reading)
  // A number beyond the range is parsed as infinity, which JSON would print as null.
  if (!Number.isFinite(value)) throw refused(reading, 'must be a number within the range of a 64-bit float')
  return value
}

/** True for an object; false for a number that is kept as its original digits. */
export function isObject(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && writtenNumber(value) === null
}

export const flag: Rule = (value, reading) => {
  if (typeof value !== 'boolean') throw refused(reading, 'must be true or false')
  return value
}

/** Accepts any value, for data of the client that the mesh does not interpret. */
export const anything: Rule = (value) => value

export function oneOf(...allowed: readonly string[]): Rule {
  return (value, reading) => {
    if (typeof value === 'string' && allowed.includes(value)) return value
    throw refused(reading, `${shown(value)} is not accepted; accepted are ${allowed.join(', ')}`)
  }
}

/** Accepts a text, or any value that the rule accepts. */
export function textOr(rule: Rule): Rule {
  return (value, reading) => (typeof value === 'string' ? value : rule(value, reading))
}

export function listOf(rule: Rule): Rule {
  return (value, reading) => {
    if (!Array.isArray(value)) throw refused(reading, 'a list is expected')
    const list: readonly JsonValue[] = value
    let copy: JsonValue[] | null = null
    const depth = reading.path.length
    for (let index = 0; index < list.length; index++) {
      const entry = list[index]
      if (entry === undefined) continue
      reading.path[depth] = index
      const checked = rule(entry, reading)
      if (checked !== entry) (copy ??= [...list])[index] = checked
    }
    reading.path.length = depth
    return copy ?? value
  }
}

/**
 * Accepts an object and keeps only these members. With `strict`, other members are rejected, since the client expects
 * an effect from them. A member that is null counts as missing.
 */
export function objectOf(
  members: Readonly<Record<string, Rule>>,
  options: { readonly required?: readonly string[]; readonly strict?: boolean } = {},
): Rule {
  const rules = new Map(Object.entries(members))
  const { required = [], strict = false } = options
  return (value, reading) => {
    if (!isObject(value)) throw refused(reading, 'an object is expected')
    let copy: Record<string, JsonValue> | null = null
    const depth = reading.path.length
    for (const name in value) {
      const member = value[name]
      const rule = rules.get(name)
      if (rule !== undefined && (member === null || member === undefined)) continue
      reading.path[depth] = name
      if (rule === undefined) {
        if (strict && member !== null) throw refused(reading, 'this field is not accepted')
        copy ??= { ...value }
        delete copy[name]
        continue
      }
      const checked = rule(member as JsonValue, reading)
      if (checked !== member) (copy ??= { ...value })[name] = checked
    }
    reading.path.length = depth
    for (const name of required) {
      if (value[name] !== undefined && value[name] !== null) continue
      reading.path.push(name)
      throw refused(reading, 'this field is required')
    }
    return copy ?? value
  }
}

/** Accepts an object whose member `by` is exactly one of the kinds. */
export function kindOf(by: string, kinds: Readonly<Record<string, Rule>>): Rule {
  const rules = new Map(Object.entries(kinds))
  const names = Object.keys(kinds).join(', ')
  return (value, reading) => {
    if (!isObject(value)) throw refused(reading, 'an object is expected')
    const kind = value[by]
    const rule = typeof kind === 'string' ? rules.get(kind) : undefined
    if (rule !== undefined) return rule(value, reading)
    reading.path.push(by)
    throw refused(reading, `${shown(kind)} is not accepted; accepted are ${names}`)
  }
}

/** Rejects a value that would refer to data that only the provider has. */
export function refusing(why: string): Rule {
  return (_value, reading) => {
    throw refused(reading, why)
  }
}

/**
 * Reads the members that a request may have, in the order of the rules; all others are dropped, as are members whose
 * rule returns null.
 */
export function chosenMembers(
  body: JsonObject,
  rules: Readonly<Record<string, Rule>>,
  reading: Reading,
): Record<string, JsonValue> {
  const chosen: Record<string, JsonValue> = {}
  for (const [name, rule] of Object.entries(rules)) {
    const value = body[name]
    if (value === undefined || value === null) continue
    reading.path.length = 0
    reading.path.push(name)
    const checked = rule(value, reading)
    if (checked !== null) chosen[name] = checked
  }
  return chosen
}
