import { isJsonObject } from './is-json-object.ts'

/**
 * The methods of MCP that call no tool: they open and end a session, list what a server has, read, and cancel. A method that is
 * not listed counts as a tool call of an unknown name.
 */
const readingMethods: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  // A task continues a call that was decided. `tasks/update` is not listed, because it gives the call more input.
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
])

/**
 * Returns which tools a message or a batch of messages to an MCP server calls: one entry for each call, null for a call
 * of an unknown tool. Empty for messages that only read. Pure.
 */
export function toolsCalledBy(message: unknown): readonly (string | null)[] {
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message]
  return messages.flatMap(toolOf)
}

function toolOf(message: unknown): readonly (string | null)[] {
  if (!isJsonObject(message) || hasOtherSpelling(message, ['method', 'params'])) return [null]
  const { method, params } = message
  // An answer to a request of the server has no method.
  if (method === undefined) return []
  if (typeof method !== 'string') return [null]
  if (readingMethods.has(method) || method.startsWith('notifications/')) return []
  if (method !== 'tools/call' || !isJsonObject(params) || hasOtherSpelling(params, ['name'])) return [null]
  const { name } = params
  return [typeof name === 'string' ? name : null]
}

/**
 * Whether a member differs from one of these names in case only. Some servers, such as those in Go, read such a member in
 * place of the one that was decided.
 */
function hasOtherSpelling(object: object, names: readonly string[]): boolean {
  return Object.keys(object).some(
    (key) => !names.includes(key) && names.includes(key.toUpperCase().toLowerCase()),
  )
}
