import { normalChunkSchema } from '@flotilla/protocol/normal-answer'
import type { NormalChunk, Thought } from '@flotilla/protocol/normal-answer'
import { Problem } from '@flotilla/protocol/problem'
import { joinThoughts } from '@flotilla/protocol/thoughts'
import type { ModelAnswer, RequestedCall } from './language-model.ts'

export interface AnswerAssembly {
  /** Takes one chunk of the stream and returns its text. Throws the Problem `model-failed` for an invalid chunk. */
  take(chunk: unknown): string
  /**
   * True if `piece`, which were just taken, are the first text of the answer; earlier pieces belonged to another
   * attempt, or were thinking.
   */
  begins(piece: string): boolean
  /** True once the stream has said why the model stopped. */
  isWhole(): boolean
  /** The error that the other end reported inside the stream, or null. */
  error(): { code: string; detail: string } | null
  answer(): ModelAnswer
  /**
   * True if the mesh set a bound of its own and the answer was cut off there. For a bound of the model or the
   * budget the mesh says `null`, or nothing.
   */
  isCutByMesh(): boolean
}

/**
 * Assembles an answer from the chunks of the normal form. Nothing is guessed: any other form is not an answer of the
 * mesh. Pure except for its own state. The cost is the mesh's `cost_usd`, beside or in the usage of the last chunk.
 */
export function createAnswerAssembly(): AnswerAssembly {
  let text = ''
  let finish: string | null = null
  let tokens = 0
  let promptTokens = 0
  let costUsd = 0
  let answerBound: number | null = null
  let failure: { code: string; detail: string } | null = null
  const calls: RequestedCall[] = []
  const thoughts: Thought[] = []

  function count({ usage, cost_usd: cost, answer_bound: bound }: NormalChunk): void {
    const prompt = usage?.prompt_tokens ?? 0
    tokens = Math.max(tokens, prompt + (usage?.completion_tokens ?? 0))
    promptTokens = Math.max(promptTokens, prompt)
    costUsd = Math.max(costUsd, usage?.cost_usd ?? 0, cost ?? 0)
    for (const stated of [bound, usage?.answer_bound]) if (stated !== undefined) answerBound = stated
  }

  return {
    take: (value) => {
      failure ??= failureIn(value)
      if (failure) return ''
      const parsed = normalChunkSchema.safeParse(value)
      if (!parsed.success) throw notNormal(parsed.error.issues[0]?.path ?? [])
      count(parsed.data)
      const [choice] = parsed.data.choices
      finish = choice?.finish_reason ?? finish
      const message = choice?.delta ?? choice?.message
      for (const { id, function: called } of message?.tool_calls ?? [])
        calls.push({ id, name: called.name, arguments: called.arguments })
      const piece = message?.content ?? ''
      if (message?.content_was_reasoning === true) {
        if (text !== '') thoughts.push(thinkingIn(text))
        text = ''
      }
      thoughts.push(...(message?.reasoning_details ?? []))
      text += piece
      return piece
    },
    begins: (piece) => text.length === piece.length,
    isWhole: () => finish !== null,
    isCutByMesh: () => finish === 'length' && (answerBound ?? 0) > 0,
    error: () => failure,
    answer: () => ({
      text,
      toolCalls: calls,
      ...(thoughts.length > 0 ? { thoughts: joinThoughts(thoughts) } : {}),
      cutOff: finish === 'length',
      ...(finish === 'content_filter' ? { isFiltered: true } : {}),
      tokens: Math.trunc(tokens),
      promptTokens: Math.trunc(promptTokens),
      answeredBy: null,
      costUsd,
    }),
  }
}

/** A thought made of text between the thinking tags of a chat template. No provider gets such a thought back. */
function thinkingIn(text: string): Thought {
  return { type: 'reasoning.text', text, format: 'plain', field: 'think_tag', from: '' }
}

function notNormal(path: readonly PropertyKey[]): Problem {
  const place = path.length === 0 ? '' : ` at ${path.join('.')}`
  return new Problem('model-failed', {
    detail: `The answer of the mesh does not have the expected form${place}.`,
  })
}

/** The mesh's own error, in OpenAI's format or as a problem. */
function failureIn(value: unknown): { code: string; detail: string } | null {
  const chunk = asRecord(value)
  const isProblem = textOf(chunk['type']).startsWith('urn:flotilla:problem:')
  if (chunk['error'] === undefined && !isProblem) return null
  const error = typeof chunk['error'] === 'object' ? asRecord(chunk['error']) : chunk
  const detail = textOf(error['detail']) || textOf(error['message']) || textOf(chunk['error'])
  return { code: textOf(error['code']), detail: detail || 'The stream reported an error.' }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
