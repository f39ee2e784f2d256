import { nearestNames } from '@flotilla/protocol/nearest-name'
import type { Tool } from './tool.ts'
import { offeredDefinitions } from './withheld-tools.ts'

/** Names of deferred tools that are similar to an unknown one. */
const nearMax = 5

/**
 * Returns the error for a tool that does not exist: it lists the tools of the prompt, and the deferred ones with
 * similar names. Pure.
 */
export function noSuchTool(tools: readonly Tool[], name: string): string {
  const listed = offeredDefinitions(tools).map((definition) => definition.name)
  const findable = tools.filter((tool) => tool.deferred === true && tool.withheld !== true)
  const near = nearestNames(
    name,
    findable.map(({ definition }) => definition.name),
    nearMax,
  )
  const more = near.length === 0 ? '' : `. find_tools finds others, such as ${near.join(', ')}`
  return `There is no such tool. Your tools: ${listed.join(', ')}${more}`
}
