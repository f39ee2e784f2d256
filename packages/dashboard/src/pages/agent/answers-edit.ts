import { answerKinds, answerLimits, thinkingEfforts } from '@flotilla/protocol/answer-settings'
import type { AnswerKind, ThinkingEffort } from '@flotilla/protocol/answer-settings'
import type { AnswersView } from '@flotilla/protocol/setup-api'

/** The settings of one kind of run as text of form fields; empty means that the value of all agents applies. */
export interface AnswerFields {
  readonly thinking: ThinkingEffort | ''
  readonly outputTokens: string
}
export type AnswersFields = Readonly<Record<AnswerKind, AnswerFields>>

export interface AnswerChange {
  readonly kind: AnswerKind
  readonly thinking: ThinkingEffort | null
  readonly max_output_tokens: number | null
}

/** Pure. */
export function answerFieldsOf(view: AnswersView | undefined): AnswersFields {
  const of = (kind: AnswerKind): AnswerFields => {
    const { thinking, max_output_tokens: tokens } = view?.[kind] ?? {}
    return { thinking: thinking ?? '', outputTokens: tokens === undefined ? '' : String(tokens) }
  }
  return { chat: of('chat'), task: of('task'), heartbeat: of('heartbeat') }
}

/** Returns why the fields cannot be saved; null if they can. Pure. */
export function answersFault(fields: AnswersFields): string | null {
  const { outputTokensMin: min, outputTokensMax: max } = answerLimits
  const kind = answerKinds.find((one) => {
    const typed = fields[one].outputTokens.trim()
    return typed !== '' && !(Number.isInteger(Number(typed)) && Number(typed) >= min && Number(typed) <= max)
  })
  return kind === undefined ? null : `The longest answer in a ${kind} is ${min} to ${max} tokens.`
}

/** Returns a change for each kind of run whose fields differ. Pure. */
export function answerChanges(before: AnswersFields, after: AnswersFields): readonly AnswerChange[] {
  return answerKinds
    .filter((kind) => lineOf(kind, before[kind]) !== lineOf(kind, after[kind]))
    .map((kind) => {
      const { thinking, outputTokens } = after[kind]
      const tokens = outputTokens.trim()
      return {
        kind,
        thinking: thinking === '' ? null : thinking,
        max_output_tokens: tokens === '' ? null : Number(tokens),
      }
    })
}

/** Formats one kind of run a line, for a readable difference. Pure. */
export function answersText(fields: AnswersFields): string {
  return answerKinds.map((kind) => lineOf(kind, fields[kind])).join('\n')
}

function lineOf(kind: AnswerKind, { thinking, outputTokens }: AnswerFields): string {
  const tokens = outputTokens.trim()
  return `${kind}: thinking ${thinking === '' ? 'as all agents' : thinking}, longest answer ${tokens === '' ? 'as all agents' : `${Number(tokens)} tokens`}`
}

export function readThinking(typed: string): ThinkingEffort | '' {
  return thinkingEfforts.find((effort) => effort === typed) ?? ''
}
