import { writtenNumber } from '@flotilla/protocol/json-as-written'
import { isRecord } from '../empty-answer.ts'
import { namesOf } from './strange-content.ts'
import { unreadable } from './unreadable.ts'

/** The members in which an object has its words, in the order in which they are tried. */
const sayingNames = ['text', 'value', 'content', 'output_text', 'thinking', 'parts'] as const

/**
 * Returns the words in a value that should be a text: a number or boolean as it is printed, the joined texts of a
 * list, or the text in an object. Throws `provider-unreadable` for an object of other members. Pure.
 */
export function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(wordsOf).join('')
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`
  if (!isRecord(value)) return ''
  const number = writtenNumber(value)
  if (number !== null) return number
  const name = sayingNames.find((one) => (value[one] ?? null) !== null)
  if (name !== undefined) return wordsOf(value[name])
  if (Object.values(value).some((member) => member !== null)) throw unreadable(`words in ${namesOf(value)}`)
  return ''
}

/** Returns the words in the first of these members that has a value. Throws as `wordsOf`. Pure. */
export function wordsAt(value: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  return wordsOf(names.map((name) => value[name]).find((member) => (member ?? null) !== null))
}
