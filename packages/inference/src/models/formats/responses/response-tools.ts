import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { badRequest } from '../json-body.ts'

/** The longest name of a function that chat completions accept, characters. */
const nameMaxChars = 64

/** A tool of a Responses API call, and the name under which a chat completion offers it as a function. */
interface OfferedTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | null
  readonly chatName: string
  readonly chat: JsonObject
}

/**
 * The tools of one call. A chat completion has only functions, so a custom tool becomes a function with one text
 * (`input`), and a tool of a namespace gets the namespace in front of its name.
 */
export interface ResponseTools {
  readonly chatTools: readonly JsonObject[]
  /** Returns the function name for a call in the history, whose tool may no longer be offered. */
  chatNameOf(name: string, namespace: string | null): string
  /** Returns the tool that a model called by its function name; undefined for a name that was not offered. */
  calledBy(chatName: string): Pick<OfferedTool, 'kind' | 'name' | 'namespace'> | undefined
}

/** Throws the Problem `bad-request` for a tool that runs at a provider. Pure. */
export function readResponseTools(tools: JsonValue | undefined): ResponseTools {
  const byChatName = new Map<string, OfferedTool>()
  const byName = new Map<string, OfferedTool>()
  const freeName = createFreeNames()
  const list = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  for (const tool of list) {
    if (tool['type'] !== 'namespace') offer(tool, null)
    else
      for (const inner of Array.isArray(tool['tools']) ? tool['tools'] : [])
        offer(inner, textIn(tool, 'name'))
  }

  function offer(tool: JsonValue, namespace: string | null): void {
    if (!isJsonObject(tool)) return
    if (tool['type'] !== 'function' && tool['type'] !== 'custom') {
      throw badRequest(`tools: ${textIn(tool, 'type')} is not offered for this model by this endpoint`)
    }
    const name = textIn(tool, 'name')
    const chatName = freeName(joinedName(name, namespace))
    const kind = tool['type'] === 'custom' ? 'custom' : 'function'
    const offered = { kind, name, namespace, chatName, chat: chatTool(tool, kind, chatName) } as const
    byChatName.set(chatName, offered)
    byName.set(keyOf(name, namespace), offered)
  }

  return {
    chatTools: [...byChatName.values()].map(({ chat }) => chat),
    chatNameOf: (name, namespace) =>
      byName.get(keyOf(name, namespace))?.chatName ?? joinedName(name, namespace),
    calledBy: (chatName) => byChatName.get(chatName),
  }
}

function joinedName(name: string, namespace: string | null): string {
  return namespace === null ? name : `${namespace}__${name}`.slice(0, nameMaxChars)
}

function keyOf(name: string, namespace: string | null): string {
  return `${namespace ?? ''}\n${name}`
}

/** Returns each name as it is, or with the next number if it was given before; at most two tries a tool. */
function createFreeNames(): (name: string) => string {
  const given = new Set<string>()
  let next = 2
  return (name) => {
    let free = name
    while (given.has(free)) {
      const end = `_${next++}`
      free = name.slice(0, nameMaxChars - end.length) + end
    }
    given.add(free)
    return free
  }
}

function chatTool(tool: JsonObject, kind: OfferedTool['kind'], name: string): JsonObject {
  const description = textIn(tool, 'description')
  if (kind === 'custom') {
    const { format } = tool
    const grammar = isJsonObject(format) && format['type'] === 'grammar' ? format : null
    const rule =
      grammar === null
        ? ''
        : `\n\nThe input must match this ${textIn(grammar, 'syntax')} grammar:\n${textIn(grammar, 'definition')}`
    const parameters = {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false,
    }
    return { type: 'function', function: { name, description: description + rule, parameters } }
  }
  return {
    type: 'function',
    function: {
      name,
      ...(description === '' ? {} : { description }),
      parameters: tool['parameters'] ?? { type: 'object', properties: {} },
      ...(tool['strict'] === true ? { strict: true } : {}),
    },
  }
}

/** Returns the arguments of the function that replaces a custom tool. Pure. */
export function customArguments(input: string): string {
  return JSON.stringify({ input })
}

/** Returns the input of a custom tool from the arguments that the model wrote; other text is the input itself. Pure. */
export function customInput(text: string): string {
  const value = readJsonQuietly(text, jsonLimits.modelAnswer)
  return isJsonObject(value) && typeof value['input'] === 'string' ? value['input'] : text
}

function textIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}
