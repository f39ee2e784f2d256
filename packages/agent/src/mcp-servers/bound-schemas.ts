import { anyParameters } from './describe-tools.ts'
import type { NamedTool } from './name-tools.ts'

/**
 * Limit for the schemas of all servers' tools together, in characters of JSON, since the agent's memory holds them.
 */
export const schemasMaxChars = 400_000

/**
 * Pure. If all schemas together are too long, the longest are hidden first and their tools accept any object.
 * A server with long schemas loses before one with short ones.
 */
export function boundSchemas(tools: readonly NamedTool[]): {
  readonly tools: readonly NamedTool[]
  readonly leftOut: number
} {
  const sizes = tools.map(({ tool }) => JSON.stringify(tool.parameters).length)
  let total = sizes.reduce((sum, size) => sum + size, 0)
  const hidden = new Set<number>()
  for (const index of sizes.map((_, at) => at).sort((a, b) => sizes[b]! - sizes[a]!)) {
    // both are places in the list
    if (total <= schemasMaxChars) break
    hidden.add(index)
    total -= sizes[index]! // the same
  }
  const bounded = tools.map((one, index) =>
    hidden.has(index) ? { ...one, tool: { ...one.tool, parameters: anyParameters } } : one,
  )
  return { tools: bounded, leftOut: hidden.size }
}
