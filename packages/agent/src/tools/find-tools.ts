import { promptParts } from '@flotilla/protocol/prompt-parts'
import { callToolName, coreTools, findableGroups, findToolName } from '@flotilla/protocol/findable-tools'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { jsonObject, text, withDefault } from './parameters.ts'
import { searchTools } from './search-tools.ts'
import { defineTool, succeeded } from './tool.ts'
import type { Tool } from './tool.ts'
import { listToolGroups } from './tool-group-lines.ts'
import { offeredDefinitions } from './withheld-tools.ts'
import { describedHead } from './found-tools.ts'

const queryMaxChars = 200
const timeoutMs = 30_000
/** The maximum number of definitions in one answer, and their characters: below the limit of a tool result. */
const answerToolsMax = 24
const answerMaxChars = 12_000
/** The maximum number of further matching tools that one answer lists by name only. */
const moreNamesMax = 40

const noText = sanitizeForPrompt('')
/** The answers of `find_tools` say how to call what they describe: not every model gets `call_tool`. */
const noteHead = `${promptParts.tools} find_tools describes them:`

export interface ToolFinder {
  /** `find_tools` and `call_tool`. */
  readonly tools: readonly Tool[]
  /**
   * Sets the list of tools to search, which may change later. The lines on tool groups in the system prompt do not
   * change, so that the prompt of a run begins with the same bytes in each round.
   */
  search(list: readonly Tool[]): void
}

/** Marks as deferred all tools that an agent of this kind does not need in every prompt. Pure. */
export function deferTools(kind: 'operator' | 'worker', tools: readonly Tool[]): readonly Tool[] {
  const core: readonly string[] = coreTools[kind]
  return tools.map((tool) => (core.includes(tool.definition.name) ? tool : { ...tool, deferred: true }))
}

/**
 * The two tools by which a model reaches the deferred ones. What `find_tools` finds becomes part of the
 * conversation and `call_tool` calls it, so the list of tools in the prompt is the same in each round and a
 * provider's cache stays valid. Permissions are decided as for every call.
 */
export function createToolFinder(): ToolFinder {
  let list: readonly Tool[] = []
  let note = noText
  const findable = (): readonly Tool[] =>
    list.filter((tool) => tool.deferred === true && tool.withheld !== true)
  const find = defineTool({
    name: findToolName,
    description: 'Describes tools that are not in your list. Your instructions name them.',
    parameters: {
      query: text('Names of groups or tools, or words for what you need', {
        minChars: 1,
        maxChars: queryMaxChars,
      }),
    },
    effect: 'none',
    parallelSafe: true,
    timeoutMs,
    run: async ({ query }, { found }) => {
      const listed = offeredDefinitions(list).find(({ name }) => name === query.trim())
      if (listed) return succeeded(`${listed.name} is in your list: call it by its name.`)
      const result = searchTools(query, findable(), findableGroups)
      if (result.length > 0) return succeeded(describe(result, found?.() ?? new Set()))
      return succeeded(`Nothing fits. The groups are:\n${listToolGroups(findable(), findableGroups)}`)
    },
  })
  const call = defineTool({
    name: callToolName,
    description: 'Calls a tool that is not in your list.',
    parameters: {
      name: text('Name of the tool', { minChars: 1, maxChars: 128 }),
      arguments: withDefault(jsonObject('Its arguments, as find_tools describes them'), {}),
    },
    effect: 'none',
    timeoutMs,
    // The loop replaces `call_tool` by the inner call; this runs only if the call names no callable tool.
    run: async ({ name }) => {
      throw new Problem('bad-request', { detail: `\`name\`: ${name} cannot be called by call_tool.` })
    },
  })
  const noted: Tool = {
    ...find,
    get promptNote() {
      return note
    },
  }
  return {
    tools: [noted, call],
    search: (tools) => {
      list = tools
      note = sanitizeForPrompt(`${noteHead}\n${listToolGroups(findable(), findableGroups)}`)
    },
  }
}

/** Returns one line for each definition, as `found-tools.ts` parses it. Texts of servers and skills are untrusted. */
function describe(tools: readonly Tool[], found: ReadonlySet<string>): string {
  const known: string[] = []
  const more: string[] = []
  const lines: string[] = []
  let room = answerMaxChars
  let isOutside = false
  for (const { definition, source } of tools) {
    const { name, description, parameters } = definition
    const line = JSON.stringify({ name, description, parameters })
    if (found.has(name)) known.push(name)
    else if (lines.length < answerToolsMax && line.length <= room) {
      lines.push(line)
      room -= line.length
      isOutside ||= source !== undefined
    } else more.push(name)
  }
  return [
    ...(lines.length > 0 ? [describedHead] : []),
    ...lines,
    ...(known.length > 0 ? [`Described above already: ${known.join(', ')}`] : []),
    ...(more.length > 0 ? [`Not described, find them by name: ${shortList(more)}`] : []),
    ...(isOutside ? ['{"trust": "outside"}'] : []),
  ].join('\n')
}

function shortList(names: readonly string[]): string {
  const left = names.length - moreNamesMax
  return names.slice(0, moreNamesMax).join(', ') + (left > 0 ? ` and ${left} more` : '')
}
