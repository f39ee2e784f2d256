import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { promptParts } from '@flotilla/protocol/prompt-parts'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { Tool } from './tool.ts'

/** The tools that the mesh would deny to this agent now, and whether its model supports pictures. */
export interface WithheldTools {
  readonly names: ReadonlySet<string>
  readonly seesImages: boolean
}

/** Assumed if the mesh does not answer: the mesh decides each call anyway, so this grants nothing. */
export const nothingWithheld: WithheldTools = { names: new Set(), seesImages: true }

const askTimeoutMs = 10_000
/** Tools that return only pictures, useless for a model without picture input. */
const picturesOnly: readonly string[] = ['view_image', 'browser_screenshot', 'browser_click_xy']

/** Asks the mesh in one call. Rejects as the mesh does. */
export async function askWithheldTools(mesh: RunMesh, signal: AbortSignal): Promise<WithheldTools> {
  const reply = await mesh.call({
    endpoint: toolEndpoints.toolsHeld,
    timeoutMs: askTimeoutMs,
    waitForMesh: false,
    signal,
  })
  return readWithheldTools(reply)
}

/** Pure. */
export function readWithheldTools(reply: unknown): WithheldTools {
  if (!isJsonObject(reply)) return nothingWithheld
  const refused = Array.isArray(reply['refused']) ? reply['refused'] : []
  const names = refused.flatMap((one) =>
    isJsonObject(one) && typeof one['tool'] === 'string' ? [one['tool']] : [],
  )
  const seesImages = reply['sees_images'] !== false
  return { names: new Set([...names, ...(seesImages ? [] : picturesOnly)]), seesImages }
}

/** Pure. */
export function withholdTools(tools: readonly Tool[], withheld: WithheldTools): readonly Tool[] {
  return tools.map((tool) => (withheld.names.has(tool.definition.name) ? { ...tool, withheld: true } : tool))
}

/**
 * The definitions that every prompt holds, by name: a provider caches them only in the same order. Pure.
 */
export function offeredDefinitions(tools: readonly Tool[]): readonly ToolDefinition[] {
  return tools
    .filter((tool) => tool.withheld !== true && tool.deferred !== true)
    .map((tool) => tool.definition)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The system prompt with the notes of these tools, before the rules of this kind of run. Pure. */
export function withPromptNotes(systemPrompt: PromptText, tools: readonly Tool[]): PromptText {
  const notes = tools.flatMap(({ promptNote }) => promptNote ?? []).filter((note) => note !== '')
  const at = systemPrompt.lastIndexOf(`\n\n${promptParts.kind}`)
  if (at === -1) return joinPromptText([systemPrompt, ...notes], '\n\n')
  const [shared, own] = [
    truncatePromptText(systemPrompt, at, ''),
    sanitizeForPrompt(systemPrompt.slice(at + 2)),
  ]
  return joinPromptText([shared, ...notes, own], '\n\n')
}
