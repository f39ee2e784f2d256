import { asideAnswerTokensMax } from '@flotilla/protocol/aside-call'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { LanguageModel, PromptMessage } from '../llm/language-model.ts'
import { cutMiddle } from '../tools/cut-middle.ts'
import { factsPrompt, summaryPrompt } from './context-prompts.ts'
import { renderTranscript } from './render-transcript.ts'
import { madeCall } from '../tools/made-call.ts'

/** Asks the model what to remember and how to summarize, without adding these questions to the conversation. */

const messageMaxChars = 4000
const summaryMaxChars = 6000
const factsMax = 20
const factMaxChars = 500

export interface AsideAnswer {
  readonly text: PromptText
  readonly tokens: number
  readonly costUsd: number
}

/** Rejects with the model's error. `transcriptMaxChars` is how much of the transcript fits the model's window. */
async function askAside(
  model: LanguageModel,
  ask: { prompt: PromptText; messages: readonly PromptMessage[]; transcriptMaxChars: number },
  signal: AbortSignal,
): Promise<AsideAnswer> {
  const transcript = cutMiddle(renderTranscript(ask.messages, messageMaxChars), ask.transcriptMaxChars)
  const answer = await model.answer(
    {
      messages: [
        { role: 'system', content: ask.prompt },
        { role: 'user', content: sanitizeForPrompt(`The conversation:\n\n${transcript}`) },
      ],
      tools: [],
      mayCallTools: false,
      purpose: 'aside',
      answerTokensMax: asideAnswerTokensMax,
    },
    () => undefined,
    signal,
  )
  return { text: sanitizeForPrompt(answer.text), tokens: answer.tokens, costUsd: answer.costUsd }
}

export async function askForSummary(
  model: LanguageModel,
  ask: { messages: readonly PromptMessage[]; transcriptMaxChars: number },
  signal: AbortSignal,
): Promise<AsideAnswer> {
  const answer = await askAside(model, { ...ask, prompt: summaryPrompt }, signal)
  return { ...answer, text: truncatePromptText(answer.text, summaryMaxChars) }
}

export async function askForFacts(
  model: LanguageModel,
  ask: { messages: readonly PromptMessage[]; transcriptMaxChars: number },
  signal: AbortSignal,
): Promise<AsideAnswer & { readonly facts: readonly PromptText[] | null }> {
  const answer = await askAside(model, { ...ask, prompt: factsPrompt }, signal)
  return { ...answer, facts: readFacts(answer.text) }
}

/** Reads the list of facts in a model's answer; null when the answer contains no list of strings. Pure. */
export function readFacts(text: string): readonly PromptText[] | null {
  const [from, to] = [text.indexOf('['), text.lastIndexOf(']')]
  if (from === -1 || to < from) return null
  const list = text.slice(from, to + 1)
  try {
    const value: unknown = JSON.parse(list)
    if (!Array.isArray(value)) return null
    return (value as readonly unknown[])
      .map((fact) => truncatePromptText(sanitizeForPrompt(fact), factMaxChars))
      .filter((fact) => fact.trim() !== '')
      .slice(0, factsMax)
  } catch {
    return null
  }
}

const outlineLineMaxChars = 300
const outlineMaxChars = 4000

/** The fallback when no model gave a summary: what was said, line by line, and which tools were called. Pure. */
export function outline(messages: readonly PromptMessage[]): PromptText {
  const lines = messages
    .filter((message) => message.role !== 'tool' && message.role !== 'system')
    .map((message) => {
      const calls = message.role === 'assistant' ? message.toolCalls.map((call) => madeCall(call).name) : []
      const called = calls.length === 0 ? '' : ` [called ${calls.join(', ')}]`
      return `- ${message.role}: ${message.content.replaceAll(/\s+/g, ' ').slice(0, outlineLineMaxChars)}${called}`
    })
  return cutMiddle(sanitizeForPrompt(lines.join('\n')), outlineMaxChars)
}
