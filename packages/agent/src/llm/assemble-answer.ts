import type { ModelAnswer, RequestedCall } from './language-model.ts'

interface PartialCall {
  id: string
  name: string
  arguments: string
}

export interface AnswerAssembly {
  /** Takes one chunk of the stream; answers with the words in it. */
  take(chunk: unknown): string
  /** True once the model said why it stopped. */
  isWhole(): boolean
  /** What the far end reported as an error inside the stream, or null. */
  error(): { code: string; detail: string } | null
  answer(): ModelAnswer
  /** It was cut off where the mesh has told a bound of its own: of the model's or the budget's it says `null`, or nothing. */
  isCutByMesh(): boolean
}

/**
 * Puts an answer together from the chunks of an OpenAI-compatible stream. Pure but for its own memory. Tool
 * calls come in pieces by index; some providers leave the index out and send each call whole. The cost is the
 * mesh's `cost_usd`, beside or in the last chunk's usage.
 */
export function createAnswerAssembly(): AnswerAssembly {
  let text = ''
  let finish: string | null = null
  let tokens = 0
  let promptTokens = 0
  let costUsd = 0
  let answerBound: unknown = undefined
  let failure: { code: string; detail: string } | null = null
  const calls: PartialCall[] = []

  const takeCall = (value: unknown): void => {
    const piece = asRecord(value)
    const details = asRecord(piece['function'])
    const id = textOf(piece['id'])
    const call = findCall(calls, { index: piece['index'], id })
    if (id !== '') call.id = id
    call.name += textOf(details['name'])
    call.arguments += textOf(details['arguments'])
  }
  return {
    take: (value) => {
      const chunk = asRecord(value)
      if (chunk['error'] !== undefined || textOf(chunk['type']).startsWith('urn:flotilla:problem:')) {
        failure = readFailure(chunk)
      }
      const usage = asRecord(chunk['usage'])
      tokens = Math.max(tokens, numberOf(usage['prompt_tokens']) + numberOf(usage['completion_tokens']))
      promptTokens = Math.max(promptTokens, numberOf(usage['prompt_tokens']))
      for (const told of [chunk['answer_bound'], usage['answer_bound']]) {
        if (told !== undefined) answerBound = told
      }
      costUsd = Math.max(costUsd, numberOf(usage['cost_usd']), numberOf(chunk['cost_usd']))
      const choice = asRecord(asList(chunk['choices'])[0])
      if (typeof choice['finish_reason'] === 'string') finish = choice['finish_reason']
      // A whole answer that was not streamed has a message where a stream has deltas.
      const delta = asRecord(choice['delta'] ?? choice['message'])
      for (const call of asList(delta['tool_calls'])) takeCall(call)
      const words = textOf(delta['content'])
      text += words
      return words
    },
    isWhole: () => finish !== null,
    isCutByMesh: () => finish === 'length' && numberOf(answerBound) > 0,
    error: () => failure,
    answer: () => ({
      text,
      toolCalls: calls.filter((call) => call.name !== '').map(withId),
      cutOff: finish === 'length',
      tokens: Math.trunc(tokens),
      promptTokens: Math.trunc(promptTokens),
      answeredBy: null,
      costUsd,
    }),
  }
}

function withId(call: PartialCall, index: number): RequestedCall {
  return { id: call.id === '' ? `call_${index}` : call.id, name: call.name, arguments: call.arguments }
}

function findCall(calls: PartialCall[], key: { index: unknown; id: string }): PartialCall {
  if (typeof key.index === 'number' && Number.isInteger(key.index) && key.index >= 0 && key.index < 256) {
    while (calls.length <= key.index) calls.push({ id: '', name: '', arguments: '' })
    return calls[key.index]! // filled up just above
  }
  const known = key.id === '' ? calls.at(-1) : calls.find((call) => call.id === key.id)
  if (known) return known
  const call = { id: key.id, name: '', arguments: '' }
  calls.push(call)
  return call
}

function readFailure(chunk: Readonly<Record<string, unknown>>): { code: string; detail: string } {
  const error = typeof chunk['error'] === 'object' ? asRecord(chunk['error']) : chunk
  const detail = textOf(error['detail']) || textOf(error['message']) || textOf(chunk['error'])
  return { code: textOf(error['code']), detail: detail || 'The stream reported an error.' }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
