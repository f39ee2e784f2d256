import { createHash } from 'node:crypto'
import type { SdkRules } from './sdk-rules.ts'

/** Maps the tool names and ids of one call between client and provider. */
export interface ToolNames {
  /** The name for the provider. */
  out(name: string): string
  /** Returns the client's name for a name in the provider's answer. */
  back(name: string): string
  /** Returns the id for the provider; equal for a call and its result, in every turn. */
  id(id: string): string
}

/** The maximum length of a tool's name that providers accept, in characters. */
const nameMaxChars = 64
/** The length of the hash that ends a shortened tool name, in characters. */
const markChars = 8

/**
 * Creates the mapping for one call. A name that the provider would reject keeps its words and gets a hash of the
 * whole name, so that two names never collide. Pure.
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
  const plainName = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_')
  return `${plainName.slice(0, nameMaxChars - markChars - 1)}_${mark(name, markChars)}`
}

/** Returns a hash in letters and digits, which all providers accept. */
function mark(text: string, chars: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, chars)
}
