import { createHash } from 'node:crypto'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { promptParts } from '@flotilla/protocol/prompt-parts'
import { workspaceFiles } from '@flotilla/protocol/workspace-file'

/**
 * Why a call does not repeat the beginning of the previous call of its conversation, so that the provider's cache
 * of it is lost: another model, changed tools, other thinking or another choice of tools (options), the part of the
 * system prompt that changed (`system SYSTEM.md`), or messages that were cut or summarized.
 */
export type PrefixBreak = 'model' | 'tools' | 'options' | 'conversation' | `system ${string}`

/** Hashes of the parts of one call, in the order in which providers cache them. No text is kept. */
export interface PromptPrefix {
  readonly model: string
  readonly tools: string
  readonly options: string
  readonly system: readonly { readonly part: string; readonly hash: string }[]
  /** The hash of each message that the next call should repeat. */
  readonly messages: readonly string[]
}

/** Pure. */
export function prefixOf(
  model: string,
  call: JsonObject,
  /** True if options of the answer are part of what the provider caches. */
  { withOptions }: { readonly withOptions: boolean },
): PromptPrefix {
  const { tools = null, tool_choice: choice = null, reasoning_effort: effort = null, reasoning = null } = call
  const messages = Array.isArray(call['messages']) ? call['messages'] : []
  const begin = messages.findIndex((message) => !isInstruction(message))
  const conversation = begin === -1 ? [] : messages.slice(begin)
  const end = conversation.findLastIndex((message) => !isInstruction(message))
  return {
    model,
    tools: hashOf(tools),
    options: withOptions ? hashOf([choice, effort, reasoning]) : '',
    system: messages.slice(0, begin === -1 ? messages.length : begin).flatMap(partsOf),
    // Reminders and notices at the end are not repeated by the next call.
    messages: conversation.slice(0, end + 1).map(hashOf),
  }
}

/** Returns why `after` does not repeat the beginning of `before`; null if it does. Pure. */
export function breakBetween(before: PromptPrefix, after: PromptPrefix): PrefixBreak | null {
  if (before.model !== after.model) return 'model'
  if (before.tools !== after.tools) return 'tools'
  const length = Math.max(before.system.length, after.system.length)
  for (let at = 0; at < length; at += 1) {
    const [was, is] = [before.system[at], after.system[at]]
    if (was?.hash === is?.hash && was?.part === is?.part) continue
    // A part that was added or removed moves all later parts.
    const isAdded = is !== undefined && !before.system.some(({ part }) => part === is.part)
    return `system ${(isAdded ? is : (was ?? is))?.part ?? 'rules'}`
  }
  if (before.options !== after.options) return 'options'
  return before.messages.every((hash, at) => hash === after.messages[at]) ? null : 'conversation'
}

function isInstruction(message: JsonValue): boolean {
  const role = isJsonObject(message) ? message['role'] : null
  return role === 'system' || role === 'developer'
}

const fileNames = workspaceFiles.map(({ name }) => name)
/** Each part of a system prompt, by its beginning; what comes before the first is the rules. */
const beginnings: readonly (readonly [part: string, begin: string])[] = [
  ...fileNames.map((name) => [name, `[${name}]\n`] as const),
  ['learnings', promptParts.learnings],
  ['tool groups', promptParts.tools],
  ['skills', '- skill: '],
  ['MCP servers', '- mcp:'],
]

function partsOf(message: JsonValue): { part: string; hash: string }[] {
  const content = isJsonObject(message) ? message['content'] : null
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const found = beginnings
    .flatMap(([part, begin]) => {
      const at = text.startsWith(begin) ? 0 : text.indexOf(`\n${begin}`)
      return at === -1 ? [] : [{ part, at }]
    })
    .toSorted((one, other) => one.at - other.at)
  const all = found[0]?.at === 0 ? found : [{ part: 'rules', at: 0 }, ...found]
  return all.map(({ part, at }, index) => ({ part, hash: hashOf(text.slice(at, all[index + 1]?.at)) }))
}

function hashOf(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return createHash('sha256').update(text).digest('base64').slice(0, 16)
}
