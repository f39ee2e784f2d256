import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { isRecord } from '../empty-answer.ts'
import { isDoneObject } from './done-mark.ts'
import type { WireValue } from './wire-values.ts'

/** Whether the data of an event that is named as an end has nothing of an answer. */
export function isBareEnd(text: string): boolean {
  const value = readJsonQuietly(text, jsonLimits.modelAnswer)
  return !isRecord(value) || Object.keys(value).length === 0 || isDoneObject(value)
}

/** An event named `usage` may have the counts alone. */
export function usageEvent({ value, written }: WireValue): WireValue {
  return value['usage'] === undefined && value['choices'] === undefined
    ? { value: { usage: value }, written: { usage: value } }
    : { value, written }
}

export function errorEvent(text: string): WireValue {
  const value = { error: jsonOr(text) }
  return { value, written: value }
}

/** Returns the parsed error if it is JSON; some providers send plain text. */
function jsonOr(text: string): unknown {
  return readJsonQuietly(text, jsonLimits.modelAnswer) ?? text
}

/** Whether a value is a sound with its data. */
export function isSound(value: unknown): boolean {
  return isRecord(value) && typeof value['data'] === 'string'
}
