import type { ServerResponse } from 'node:http'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { chunkEvent, startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from './llm-upstream.ts'

/** One piece of work in a repository, for any harness. */
export interface CodingWork {
  /** Absolute paths in the container. */
  readonly file: string
  readonly content: string
  readonly testCommand: string
  /** The task that is handed to another agent, and words of its result. */
  readonly handOff: { readonly to: string; readonly title: string; readonly description: string }
  readonly result: string
  readonly summary: string
}

/** A tool as a harness offers it. */
interface Offered {
  readonly name: string
  readonly parameters: JsonObject
}

/** A call of the model that plays the work; null for words. */
type Move = { readonly name: string; readonly arguments: JsonObject } | string

/**
 * A provider whose model does one piece of work: it reads a file, changes it, runs the tests, hands work to another
 * agent, and completes its task with the result. It uses whatever tools the harness offers. Its next move follows from
 * the conversation alone, so it continues wherever it was cut off.
 */
export async function startCodingProvider(
  works: Readonly<Record<string, CodingWork>>,
  /** Called with each call of a model; the answer follows when it resolves. */
  before: (call: UpstreamCall) => Promise<void> = async () => {},
): Promise<LlmUpstream> {
  const upstream = await startLlmUpstream()
  const answer = (call: UpstreamCall, response: ServerResponse): void => {
    const work = works[String(call.body['model'])]
    const move = work === undefined ? 'This is a question beside the work.' : nextMove(call, work)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (typeof move === 'string') response.write(chunkEvent({ role: 'assistant', content: move }, 'stop'))
    else {
      const function_ = { name: move.name, arguments: JSON.stringify(move.arguments) }
      const id = `call_${upstream.calls.length}`
      const called = { index: 0, id, type: 'function', function: function_ }
      response.write(chunkEvent({ role: 'assistant', tool_calls: [called] }, 'tool_calls'))
    }
    const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 }
    response.end(
      `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`,
    )
  }
  upstream.answerWith((call, response) => void before(call).then(() => answer(call, response)))
  return upstream
}

/** Returns the tool calls of the conversation that a call of a model contains, each as JSON. */
export function madeCalls({ body }: Pick<UpstreamCall, 'body'>): readonly string[] {
  return objectsIn(body['messages'])
    .flatMap((message) => objectsIn(message['tool_calls']))
    .map((one) => JSON.stringify(one))
}

function nextMove(call: UpstreamCall, work: CodingWork): Move {
  const { body } = call
  const tools = offeredIn(body['tools'])
  const messages = objectsIn(body['messages'])
  const made = madeCalls(call)
  const wasMade = (mark: string): boolean => made.some((call) => call.includes(mark))
  if (tools.length === 0) return 'Work in a repository.'
  if (!wasMade('read_by_model') && !made.some((call) => call.includes(work.file))) return reading(tools, work)
  const written = JSON.stringify(work.content.split('\n')[0] ?? '').slice(1, -1)
  if (!wasMade(JSON.stringify(written).slice(1, -1))) return writing(tools, work)
  if (!wasMade(work.testCommand)) return shell(tools, work.testCommand)
  if (!wasMade(work.handOff.title)) return mesh(tools, 'hand_off', work.handOff)
  if (wasMade(work.summary)) return 'The work is done.'
  const isBack = messages.some(
    (message) => message['role'] !== 'assistant' && JSON.stringify(message).includes(work.result),
  )
  return isBack ? mesh(tools, 'complete_task', { summary: work.summary }) : 'I wait for the other agent.'
}

function reading(tools: readonly Offered[], work: CodingWork): Move {
  const tool = tools.find(({ name }) => /^(?:read|read_file)$/i.test(name))
  return tool === undefined
    ? shell(tools, `cat ${work.file} # read_by_model`)
    : { name: tool.name, arguments: filled(tool, { [pathOf(tool)]: work.file }) }
}

function writing(tools: readonly Offered[], work: CodingWork): Move {
  const tool = tools.find(({ name }) => /^(?:write|write_file)$/i.test(name))
  return tool === undefined
    ? shell(tools, `cat > ${work.file} <<'END'\n${work.content}END\n`)
    : { name: tool.name, arguments: filled(tool, { [pathOf(tool)]: work.file, content: work.content }) }
}

function pathOf({ parameters }: Offered): string {
  const names = isJsonObject(parameters['properties']) ? Object.keys(parameters['properties']) : []
  return names.find((name) => /path/i.test(name)) ?? 'path'
}

function shell(tools: readonly Offered[], command: string): Move {
  const tool = tools.find(({ name }) =>
    /^(?:bash|run_shell_command|shell|shell_command|exec_command)$/i.test(name),
  )
  if (tool === undefined) return `There is no shell among ${tools.map(({ name }) => name).join(' ')}.`
  const properties = isJsonObject(tool.parameters['properties']) ? tool.parameters['properties'] : {}
  const name = 'cmd' in properties ? 'cmd' : 'command'
  const property = properties[name]
  const isList = isJsonObject(property) && property['type'] === 'array'
  return { name: tool.name, arguments: filled(tool, { [name]: isList ? ['bash', '-lc', command] : command }) }
}

function mesh(tools: readonly Offered[], name: string, args: JsonObject): Move {
  const tool = tools.find((one) => one.name.endsWith(name))
  if (tool !== undefined) return { name: tool.name, arguments: args }
  const search = tools.find((one) => /tool_?search/i.test(one.name))
  return search === undefined
    ? `There is no ${name} among ${tools.map((one) => one.name).join(' ')}.`
    : { name: search.name, arguments: filled(search, { query: `select:mcp__flotilla__${name}` }) }
}

/** Adds a value for each further parameter that the tool requires. */
function filled({ parameters }: Offered, args: JsonObject): JsonObject {
  const { properties, required } = parameters
  const more = (Array.isArray(required) ? required : []).flatMap((name) => {
    if (typeof name !== 'string' || name in args || !isJsonObject(properties)) return []
    const property = properties[name]
    const type = isJsonObject(property) ? property['type'] : null
    return [
      [name, type === 'number' || type === 'integer' ? 1 : type === 'boolean' ? false : 'work'] as const,
    ]
  })
  return { ...Object.fromEntries(more), ...args }
}

function offeredIn(tools: unknown): Offered[] {
  return objectsIn(tools).flatMap(({ function: one }) => {
    if (!isJsonObject(one) || typeof one['name'] !== 'string') return []
    return [{ name: one['name'], parameters: isJsonObject(one['parameters']) ? one['parameters'] : {} }]
  })
}

function objectsIn(value: unknown): JsonObject[] {
  return (Array.isArray(value) ? (value as JsonValue[]) : []).filter((one) => isJsonObject(one))
}
