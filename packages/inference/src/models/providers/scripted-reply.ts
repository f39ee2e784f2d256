import type { JsonObject } from '@flotilla/protocol/json-value'
import type { ReplayedTurn } from '../recording/play-cassette.ts'

/** A turn of a cassette, or a recorded answer, whose arguments are text. */
interface SaidTurn extends Omit<ReplayedTurn, 'toolCalls'> {
  readonly toolCalls: readonly { readonly name: string; readonly arguments: JsonObject | string }[]
}

/** One turn with all other members that a reply in OpenAI's form needs. */
interface ScriptedReply {
  readonly turn: SaidTurn
  readonly id: string
  readonly callIds: readonly string[]
  readonly model: string
  readonly createdSeconds: number
  readonly promptChars: number
}

/** Characters per token, as in English text with common models. */
const charsPerToken = 4

/** Returns the reply as one JSON text. Pure. */
export function scriptedCompletion(reply: ScriptedReply): string {
  const { turn } = reply
  const calls = toolCallsOf(reply)
  return JSON.stringify({
    id: reply.id,
    object: 'chat.completion',
    created: reply.createdSeconds,
    model: reply.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: turn.content,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(turn),
      },
    ],
    usage: usageOf(reply),
  })
}

/** Returns the reply as server-sent events, text word by word. Pure. */
export function* scriptedChunks(reply: ScriptedReply): Generator<string> {
  const { turn } = reply
  yield chunk(reply, { role: 'assistant', content: turn.content === null ? null : '' }, null)
  for (const word of turn.content?.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [])
    yield chunk(reply, { content: word }, null)
  for (const [index, call] of toolCallsOf(reply).entries()) {
    const named = { name: call.function.name, arguments: '' }
    yield chunk(reply, { tool_calls: [{ index, id: call.id, type: 'function', function: named }] }, null)
    for (const piece of call.function.arguments.match(/[^]{1,40}/gu) ?? []) {
      yield chunk(reply, { tool_calls: [{ index, function: { arguments: piece } }] }, null)
    }
  }
  yield chunk(reply, {}, finishReason(turn))
  yield event({ ...envelope(reply), choices: [], usage: usageOf(reply) })
  yield 'data: [DONE]\n\n'
}

function chunk(reply: ScriptedReply, delta: object, finish: string | null): string {
  return event({ ...envelope(reply), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })
}

function envelope(reply: ScriptedReply): object {
  return {
    id: reply.id,
    object: 'chat.completion.chunk',
    created: reply.createdSeconds,
    model: reply.model,
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function toolCallsOf(reply: ScriptedReply) {
  return reply.turn.toolCalls.map((call, index) => ({
    id: reply.callIds[index] ?? `${reply.id}_${index}`,
    type: 'function',
    function: { name: call.name, arguments: textOf(call.arguments) },
  }))
}

function textOf(given: JsonObject | string): string {
  return typeof given === 'string' ? given : JSON.stringify(given)
}

function finishReason(turn: SaidTurn): string {
  return turn.toolCalls.length > 0 ? 'tool_calls' : 'stop'
}

function usageOf(reply: ScriptedReply): object {
  const { turn } = reply
  const calls = turn.toolCalls.map((call) => call.name + textOf(call.arguments)).join('')
  const prompt = Math.ceil(reply.promptChars / charsPerToken)
  const completion = Math.ceil(((turn.content?.length ?? 0) + calls.length) / charsPerToken)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}
