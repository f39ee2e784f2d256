import { createHash } from 'node:crypto'
import type { SdkRules } from './sdk-rules.ts'

/** Names and ids of one call's tools, as its provider takes them and as its client knows them. */
export interface ToolNames {
  /** The name that goes out. */
  out(name: string): string
  /** The client's name for one that came back. */
  back(name: string): string
  /** The id that goes out; the same for a call and its result, in every turn. */
  id(id: string): string
}

const nameMaxChars = 64
const markChars = 8

/**
 * A name that the provider would refuse keeps its words and gets a mark made from the whole of it, so that two names
 * never meet. Pure.
 */
export function createToolNames(rules: SdkRules, names: readonly string[]): ToolNames {
  const known = new Map(names.map((name) => [fitted(name, rules), name]))
  return {
    out: (name) => fitted(name, rules),
    back: (name) => known.get(name) ?? name,
    id: (id) => (rules.toolId.test(id) ? id : mark(id, rules.toolIdChars)),
  }
}

function fitted(name: string, rules: SdkRules): string {
  if (rules.toolName.test(name)) return name
  const words = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_')
  return `${words.slice(0, nameMaxChars - markChars - 1)}_${mark(name, markChars)}`
}

/** Letters and digits alone, which all of them take. */
function mark(text: string, chars: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, chars)
}
