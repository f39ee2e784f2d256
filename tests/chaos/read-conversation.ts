import type { CallFact } from './facts.ts'
import { readPlan } from './steps.ts'
import type { Step } from './steps.ts'

/** A message as a model gets it. */
export interface SaidMessage {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string }[] | null
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

export interface Heard {
  /** Results of calls by their ids. */
  readonly results: ReadonlyMap<string, string>
  /** How often each steer stands in the conversation. */
  readonly steers: ReadonlyMap<string, number>
}

const steerPattern = /Steer (s\d+) is said\./g

/** What a conversation says of calls and steers. Pure. */
export function readConversation(messages: readonly SaidMessage[]): Heard {
  const results = new Map<string, string>()
  const steers = new Map<string, number>()
  for (const message of messages) {
    if (message.role === 'tool') results.set(message.tool_call_id ?? '', textOf(message))
    if (message.role !== 'user') continue
    for (const [, steer = ''] of textOf(message).matchAll(steerPattern)) {
      steers.set(steer, (steers.get(steer) ?? 0) + 1)
    }
  }
  return { results, steers }
}

export interface Turn {
  /** Null where nothing in the conversation is a plan. */
  readonly marker: string | null
  readonly index: number
  /** Null when all is done. */
  readonly step: Step | null
}

/** The step that comes next: as many as there were calls since the latest plan are done. Pure. */
export function nextTurn(messages: readonly SaidMessage[]): Turn {
  const at = messages.findLastIndex(
    (message) => message.role === 'user' && readPlan(textOf(message)) !== null,
  )
  const planned = messages[at]
  const plan = planned ? readPlan(textOf(planned)) : null
  if (plan === null) return { marker: null, index: 0, step: null }
  const index = messages.slice(at).filter(({ tool_calls: calls }) => (calls ?? []).length > 0).length
  return { marker: plan.marker, index, step: plan.steps[index] ?? null }
}

/** Codes after which nobody knows whether the call had its effect. */
const unknownCodes = ['outcome-unknown', 'upstream-failed', 'upstream-timeout', 'internal-error']

/** What the words of a result say became of the call. Pure. */
export function toldWords(words: string): NonNullable<CallFact['told']> {
  const code = /^Error \(([a-z-]+)\)/.exec(words)?.[1]
  if (code === undefined) return words.startsWith('Error') ? 'unknown' : 'done'
  return unknownCodes.includes(code) ? 'unknown' : 'refused'
}

function textOf({ content }: SaidMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('\n')
}
