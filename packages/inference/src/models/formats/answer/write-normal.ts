import { joinThoughts } from '@flotilla/protocol/thoughts'
import type { Thought } from '@flotilla/protocol/normal-answer'
import type { AnswerEnd, SaidNews } from './answer-reader.ts'
import type { CollectedCall } from './collect-calls.ts'
import { geminiFormat } from './thoughts.ts'

/** The members of an answer in the normal form that do not depend on its content. */
export interface NormalHead {
  readonly id: string
  readonly model: string
  readonly createdSeconds: number
}

interface NormalCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** Matches call ids that stay as the provider wrote them, because the provider may look for them in the next turn. */
const keptId = /^[\x21-\x7e]{1,128}$/

/** Returns the calls of an answer, each with a unique id, and the signatures that belong to them. */
export function normalCalls(
  calls: readonly CollectedCall[],
  {
    newId,
    from,
    keeps = keptId,
  }: { readonly newId: () => string; readonly from: string; readonly keeps?: RegExp },
): { readonly calls: readonly NormalCall[]; readonly seals: readonly Thought[] } {
  const seen = new Set<string>()
  const seals: Thought[] = []
  const normal = calls.map(({ id: given, name, arguments: text, seal }): NormalCall => {
    const id = keeps.test(given) && !seen.has(given) ? given : newId()
    seen.add(id)
    if (seal !== '')
      seals.push({
        type: 'reasoning.encrypted',
        data: seal,
        id,
        format: geminiFormat,
        field: 'extra_content',
        from,
      })
    return { id, type: 'function', function: { name, arguments: text } }
  })
  return { calls: normal, seals }
}

/**
 * Writes the normal form as a stream of OpenAI chunks, stricter than OpenAI's: words and thinking as they arrive,
 * then each call whole, then one of four finish reasons, then the usage. Pure.
 */
export function newsChunk(head: NormalHead, { text, thoughts, retracts, usage }: SaidNews): string {
  if (text === '' && thoughts.length === 0 && !retracts && usage === null) return ''
  const delta = {
    ...(retracts ? { content_was_reasoning: true } : {}),
    ...(text === '' ? {} : { content: text }),
    ...(thoughts.length === 0 ? {} : { reasoning_details: thoughts }),
  }
  return event(head, { delta, finish: null, ...(usage === null ? {} : { usage }) })
}

/** Returns the first chunk of a stream, in which official clients require the role. Pure. */
export function firstChunk(head: NormalHead): string {
  return event(head, { delta: { role: 'assistant', content: '' }, finish: null })
}

export function endChunks(head: NormalHead, end: AnswerEnd, made: ReturnType<typeof normalCalls>): string {
  const last = newsChunk(head, { ...end, thoughts: [...end.thoughts, ...made.seals], usage: null })
  const calls = made.calls.map((call, index) =>
    event(head, { delta: { tool_calls: [{ index, ...call }] }, finish: null }),
  )
  const usage = end.usage === null ? '' : event(head, { delta: null, finish: null, usage: end.usage })
  return `${last}${calls.join('')}${event(head, { delta: {}, finish: end.end })}${usage}data: [DONE]\n\n`
}

/** Writes the normal form as one JSON text with the whole content and the finish reason. Pure. */
export function wholeNormal(
  head: NormalHead,
  { said: output, end, made }: { said: SaidNews; end: AnswerEnd; made: ReturnType<typeof normalCalls> },
): string {
  const text = output.text + end.text
  const thoughts = joinThoughts([...output.thoughts, ...end.thoughts, ...made.seals])
  const message = {
    role: 'assistant',
    content: text === '' && made.calls.length > 0 ? null : text,
    ...(thoughts.length === 0 ? {} : { reasoning_details: thoughts }),
    ...(made.calls.length === 0 ? {} : { tool_calls: made.calls }),
  }
  return JSON.stringify({
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: [{ index: 0, message, finish_reason: end.end }],
    ...(end.usage === null ? {} : { usage: end.usage }),
  })
}

function event(
  head: NormalHead,
  { delta, finish, usage }: { delta: object | null; finish: string | null; usage?: object },
): string {
  const chunk = {
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.createdSeconds,
    model: head.model,
    choices: delta === null ? [] : [{ index: 0, delta, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
