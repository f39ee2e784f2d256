import { readYamlDocument } from '@flotilla/foundation/config'
import { policySchema } from './policy-schema.ts'
import type { PolicyCase, WrittenPreset, WrittenRule } from './policy-schema.ts'

/** A case of the file with its line. */
export type CheckedCase = PolicyCase & { readonly line: number }

/** The text of a policy as data that another thread can return, or the line and reason of the first fault. */
export type ParsedPolicy =
  | {
      readonly ok: true
      readonly entries: readonly { readonly line: number; readonly entry: WrittenRule | WrittenPreset }[]
      readonly cases: readonly CheckedCase[]
    }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/** Parses the text of config/policy.yaml by its schema; an empty text has no rules. Pure. */
export function parsePolicy(text: string): ParsedPolicy {
  const reading = readYamlDocument(text, policySchema)
  if (!reading.ok) return reading
  const { value, lineOf } = reading.document
  return {
    ok: true,
    entries: value.rules.map((entry, index) => ({ line: lineOf(['rules', index]), entry })),
    cases: value.cases.map((one, index) => ({ ...one, line: lineOf(['cases', index]) })),
  }
}
