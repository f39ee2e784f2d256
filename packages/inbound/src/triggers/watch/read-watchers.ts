import { readYamlDocument } from '@flotilla/foundation/config'
import { rulesOf, watchersFileSchema } from './watch-rule.ts'
import type { WatchRule } from './watch-rule.ts'

export type WatchersReading =
  | { readonly ok: true; readonly rules: readonly WatchRule[] }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/** Returns the rules of `config/watchers.yaml`, or an error's line and reason. An empty text has no rules. Pure. */
export function readWatchers(text: string): WatchersReading {
  const reading = readYamlDocument(text, watchersFileSchema, { watchers: null })
  if (!reading.ok) return reading
  const { value, lineOf } = reading.document
  return { ok: true, rules: rulesOf(value.watchers, (index) => lineOf(['watchers', index])) }
}
