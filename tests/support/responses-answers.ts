import { namedEvent } from './wire-turn.ts'

type Members = Readonly<Record<string, unknown>>

/** An answer of the Responses API: words, or one call. */
export type ItemAnswer =
  | { readonly words: string }
  | { readonly name: string; readonly input: unknown; readonly id: string }

/**
 * Returns the events of an answer as OpenAI sends them: a search of the client begins with another call id than it ends
 * with, a found tool is called in a namespace of its own name, and thinking comes encrypted.
 */
export function responsesEvents(
  answer: ItemAnswer,
  { body, usage, id }: { readonly body: Members; readonly usage: object; readonly id: string },
): readonly string[] {
  const head = { id, object: 'response', created_at: 1, model: String(body['model']) }
  const event = (type: string, fields: object) => namedEvent({ type, ...fields }).toString()
  const thinking = { type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: `sealed-${id}` }
  const items = [thinking, itemOf(answer, body)]
  return [
    event('response.created', { response: { ...head, status: 'in_progress', output: [] } }),
    event('response.in_progress', { response: { ...head, status: 'in_progress', output: [] } }),
    ...items.flatMap((item, output_index) => eventsOf(item, output_index, event)),
    event('response.completed', { response: { ...head, status: 'completed', output: items, usage } }),
  ]
}

function itemOf(answer: ItemAnswer, body: Members): Members {
  if ('words' in answer) {
    const content = [{ type: 'output_text', text: answer.words, annotations: [] }]
    return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
  }
  const { name, input, id } = answer
  const hasSearch = listOf(body['tools']).some((tool) => membersOf(tool)['type'] === 'tool_search')
  if (name === 'find_tools' && hasSearch)
    return {
      type: 'tool_search_call',
      id: `tsc_${id}`,
      call_id: id,
      execution: 'client',
      arguments: input,
      status: 'completed',
    }
  const namespace = loadedIn(body).has(name) ? { namespace: name } : {}
  const written = JSON.stringify(input)
  return { type: 'function_call', id: `fc_${id}`, call_id: id, name, ...namespace, arguments: written }
}

function eventsOf(
  item: Members,
  output_index: number,
  event: (type: string, fields: object) => string,
): readonly string[] {
  const at = { item_id: item['id'], output_index }
  const started: Members =
    item['type'] === 'tool_search_call'
      ? { ...item, arguments: {}, call_id: `begun-${String(item['call_id'])}` }
      : item['type'] === 'function_call'
        ? { ...item, arguments: '' }
        : { ...item, content: [] }
  const text = membersOf(listOf(item['content'])[0])['text']
  return [
    event('response.output_item.added', { output_index, item: { ...started, status: 'in_progress' } }),
    ...(text === undefined
      ? []
      : [event('response.output_text.delta', { ...at, content_index: 0, delta: text })]),
    ...(item['type'] === 'function_call'
      ? [event('response.function_call_arguments.delta', { ...at, delta: item['arguments'] })]
      : []),
    event('response.output_item.done', { output_index, item }),
  ]
}

/** Returns the tools that results in this conversation have loaded. */
function loadedIn(body: Members): ReadonlySet<unknown> {
  return new Set(
    listOf(body['input'])
      .map(membersOf)
      .filter(({ type }) => type === 'tool_search_output')
      .flatMap((item) => listOf(item['tools']).map((tool) => membersOf(tool)['name'])),
  )
}

/** Throws, with OpenAI's texts, for what the Responses API rejects in a conversation without storage. */
export function refuseWrongItems(body: Members): void {
  const items = listOf(body['input']).map(membersOf)
  const loaded = loadedIn(body)
  const outputs = (type: string) =>
    new Set(items.filter((item) => item['type'] === type).map((item) => item['call_id']))
  for (const [at, item] of items.entries()) {
    const { type, name, namespace, call_id: id } = item
    if (type === 'function_call' && loaded.has(name) && namespace !== name)
      throw new Error(
        `Missing namespace for function_call '${String(name)}'. It does not exist in the default namespace. Round-trip the model's function_call item with its namespace field included.`,
      )
    if (type === 'function_call' && !loaded.has(name) && namespace !== undefined)
      throw new Error(`input[${at}].namespace: no such namespace`)
    if (type === 'function_call' && !outputs('function_call_output').has(id))
      throw new Error(`No tool output found for function call ${String(id)}.`)
    if (type === 'tool_search_call' && !outputs('tool_search_output').has(id))
      throw new Error(`No tool output found for tool search call ${String(id)}.`)
    if (type === 'tool_search_call' && !String(item['id']).startsWith('tsc'))
      throw new Error(
        `Invalid 'input[${at}].id': '${String(item['id'])}'. Expected an ID that begins with 'tsc'.`,
      )
    if (type === 'reasoning' && !String(item['encrypted_content']).startsWith('sealed-'))
      throw new Error(`The encrypted content ${String(item['encrypted_content'])} could not be verified.`)
    if (type === 'reasoning' && items[at + 1]?.['type'] === 'function_call_output')
      throw new Error(`Item of type 'reasoning' was provided without its required following item.`)
  }
  if (body['store'] !== false) throw new Error('this account stores nothing')
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
