import type { JsonValue } from '@flotilla/protocol/json-value'
import type { RE2JS } from 're2js'

/** The path of a field in a payload: names of members and indexes of lists, from the outside in. */
export type FieldPath = readonly (string | number)[]

export type Literal = string | number | boolean | null

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A parsed `when`. Only `parseCondition` creates it. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly inner: Condition }
  | {
      readonly kind: 'compare'
      readonly field: FieldPath
      readonly by: Comparison
      readonly literal: Literal
    }
  | { readonly kind: 'contains'; readonly field: FieldPath; readonly literal: Literal }
  | { readonly kind: 'matches'; readonly field: FieldPath; readonly pattern: RE2JS }

/** How much of a text field a `matches` pattern searches, in characters. */
export const matchedTextMaxChars = 3000

/**
 * True if the condition holds for `payload`. A missing field is `null`. Values of different types are never less or
 * greater than each other. Never throws. The work is bounded by the size of the payload, and for patterns by
 * `matchedTextMaxChars` times `patternMaxSteps`, because RE2 does not backtrack. Pure.
 */
export function conditionHolds(condition: Condition, payload: JsonValue): boolean {
  switch (condition.kind) {
    case 'and':
      return conditionHolds(condition.left, payload) && conditionHolds(condition.right, payload)
    case 'or':
      return conditionHolds(condition.left, payload) || conditionHolds(condition.right, payload)
    case 'not':
      return !conditionHolds(condition.inner, payload)
    case 'compare':
      return compares(fieldOf(payload, condition.field), condition.by, condition.literal)
    case 'contains':
      return contains(fieldOf(payload, condition.field), condition.literal)
    case 'matches': {
      const text = fieldOf(payload, condition.field)
      return typeof text === 'string' && condition.pattern.test(text.slice(0, matchedTextMaxChars))
    }
  }
}

/** Returns the field at a path, or null. Reads own members only, so inherited properties are not fields. */
function fieldOf(payload: JsonValue, path: FieldPath): JsonValue {
  let value: JsonValue = payload
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return null
    const found: { value?: JsonValue } | undefined = Object.getOwnPropertyDescriptor(value, step)
    value = found?.value ?? null
  }
  return value
}

function compares(value: JsonValue, by: Comparison, literal: Literal): boolean {
  if (by === '==') return value === literal
  if (by === '!=') return value !== literal
  if (typeof value === 'number' && typeof literal === 'number') return inOrder(value, by, literal)
  if (typeof value === 'string' && typeof literal === 'string') return inOrder(value, by, literal)
  return false
}

function inOrder<T extends string | number>(left: T, by: '<' | '<=' | '>' | '>=', right: T): boolean {
  switch (by) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

/** True if the literal is a substring of a text or a member of a list. */
function contains(value: JsonValue, literal: Literal): boolean {
  if (typeof value === 'string') return typeof literal === 'string' && value.includes(literal)
  return Array.isArray(value) && value.includes(literal)
}
