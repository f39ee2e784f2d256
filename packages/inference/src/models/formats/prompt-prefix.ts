import { createHash } from 'node:crypto'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { promptParts } from '@flotilla/protocol/prompt-parts'
import { workspaceFiles } from '@flotilla/protocol/workspace-file'

/**
 * What differs between the beginning of a call and the previous call of its conversation, so that the provider's
 * cache does not apply: the model, the tools, the thinking effort or choice of tools (`options`), a part of the
 * system prompt (`system SYSTEM.md`), or messages that were cut or summarized (`conversation`).
 */
export type PrefixBreak = 'model' | 'tools' | 'options' | 'conversation' | `system ${string}`

/**
 * Hashes of the parts of one call, in the order in which providers cache them. The text of the call is not stored.
 */
export interface PromptPrefix {
  readonly model: string
  readonly tools: string
  readonly options: string
  readonly system: readonly { readonly part: string; readonly hash: string }[]
  /** The hash of each message that the next call should repeat. */
  readonly messages: readonly string[]
}

/** Returns the hashes of the parts of a call. Pure. */
export function prefixOf(
  model: string,
  call: JsonObject,
  /** True if the provider's cache also depends on `tool_choice` and thinking. */
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
    // The next call does not repeat the reminders and notices at the end.
    messages: conversation.slice(0, end + 1).map(hashOf),
  }
}

/** Returns what differs at the beginning of `after` from `before`; null if `after` repeats all of `before`. Pure. */
export function breakBetween(before: PromptPrefix, after: PromptPrefix): PrefixBreak | null {
  if (before.model !== after.model) return 'model'
  if (before.tools !== after.tools) return 'tools'
  const length = Math.max(before.system.length, after.system.length)
  for (let at = 0; at < length; at += 1) {
    const [was, is] = [before.system[at], after.system[at]]
    if (was?.hash === is?.hash && was?.part === is?.part) continue
    // A part that was added or removed shifts all later parts, so that part is the cause.
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
/** The text with which each part of a system prompt begins; the text before the first part is the rules. */
const beginnings: readonly (readonly [part: string, begin: string])[] = [
  ...fileNames.map((name) => [name, `[${name}]\n`] as const),
  ['kind of run', promptParts.kind],
  ['learnings', promptParts.learnings],
  ['tool groups', promptParts.tools],
  ['skills', '- skill: '],
  ['MCP servers', '- mcp:'],
]

function partsOf(message: JsonValue): { part: string; hash: string }[] {
  const content = isJsonObject(message) ? message['content'] : null
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? null)
  const found = beginnings
    .flatMap(([part, begin]) => {
      const at = text.startsWith(begin) ? 0 : text.indexOf(`\n${begin}`)
      return at === -1 ? [] : [{ part, at }]
    })
    .toSorted((one, other) => one.at - other.at)
  const all = found[0]?.at === 0 ? found : [{ part: 'rules', at: 0 }, ...found]
  // The empty lines behind a part depend on what comes after it.
  return all.map(({ part, at }, index) => ({
    part,
    hash: hashOf(text.slice(at, all[index + 1]?.at).trimEnd()),
  }))
}

function hashOf(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A slice of a text would keep the whole text in memory.
  return createHash('sha256').update(text).digest().subarray(0, 12).toString('base64')
}
