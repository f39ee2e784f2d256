import type { CallFact } from './facts.ts'
import { idFromModel, readPlan } from './steps.ts'
import type { AboutTask, Plan, Step } from './steps.ts'

/** A message as a model receives it. */
export interface SaidMessage {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string }[] | null
  readonly tool_calls?: readonly CollectedCall[]
  readonly tool_call_id?: string
}

interface CollectedCall {
  readonly id: string
  readonly function?: { readonly name: string; readonly arguments: string }
}

export interface ConversationFacts {
  /** Results of calls by their ids. */
  readonly results: ReadonlyMap<string, string>
  /** How often each steer appears in the conversation. */
  readonly steers: ReadonlyMap<string, number>
  /** How often the answer to each message appears, by the call that sent the message. */
  readonly answers: ReadonlyMap<string, number>
}

const steerPattern = /Steer (s\d+) is said\./g
/** The notification of an answer quotes the message, which contains the plan for the other agent. */
const answerPattern = /Your message to \S+ \("Link ([^ ]+)\. [^"]*"\) is answered/g
/** A learning quotes the arguments of a failed call, which may contain the plan for another agent. */
const learnings = /\[Learnings since this conversation began\.[^]*?(?:\n\n|$)/g
const questionPattern =
  /Task (task_\w+) "[^"]*", which you gave to \S+, is blocked\.\nSummary: Asked by (\S+)\./g

/** Extracts results, steers and answers from a conversation. Pure. */
export function readConversation(messages: readonly SaidMessage[]): ConversationFacts {
  const results = new Map<string, string>()
  const steers = new Map<string, number>()
  const answers = new Map<string, number>()
  const count = (counts: Map<string, number>, id: string) => counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const message of messages) {
    const words = textOf(message)
    if (message.role === 'tool') {
      const id = idFromModel(message.tool_call_id ?? '')
      results.set(id, words)
      if (isAnswer(words)) count(answers, id)
    }
    if (message.role !== 'user') continue
    for (const [, steer = ''] of words.matchAll(steerPattern)) count(steers, steer)
    for (const [, id = ''] of words.matchAll(answerPattern)) count(answers, id)
  }
  return { results, steers, answers }
}

/** True for a result of `message_agent` that contains the answer. */
function isAnswer(words: string): boolean {
  return /"state":\s*"answered"/.test(words)
}

export interface Turn {
  /** Null if no message of the conversation contains a plan. */
  readonly marker: string | null
  readonly index: number
  /** Null when all steps are done, and while an answer is awaited. */
  readonly step: Step | null
  readonly about: AboutTask | null
}

/**
 * Returns the next step of the plan: each call since the plan first appeared counts as one done step. An agent that
 * asked a question waits for the answer; an agent that was asked answers after its plan is done. Pure.
 */
export function nextTurn(messages: readonly SaidMessage[]): Turn {
  const plan = messages.map(planOf).findLast((found) => found !== null) ?? null
  if (plan === null) return { marker: null, index: 0, step: null, about: null }
  const since = messages.slice(messages.findIndex((message) => planOf(message)?.marker === plan.marker))
  const calls = since.flatMap(({ tool_calls: made = [] }) => made.slice(0, 1))
  const index = calls.length
  const turn = { marker: plan.marker, index }
  if (isWaiting(since)) return { ...turn, step: null, about: null }
  const step = stepsLeft(plan, since)[index] ?? null
  if (step !== null) return { ...turn, step, about: lastTask(since) }
  const about = openQuestion(since, calls)
  return { ...turn, step: about === null ? null : { name: 'answer' }, about }
}

function planOf(message: SaidMessage): Plan | null {
  if (message.role !== 'user') return null
  return readPlan(textOf(message).replaceAll(learnings, '').replaceAll(answerPattern, ''))
}

/**
 * Another agent that is given the task begins the plan again and reads what happened before, so a question that was
 * already asked is left out. An agent whose question was answered continues in the same conversation.
 */
function stepsLeft({ marker, steps }: Plan, since: readonly SaidMessage[]): readonly Step[] {
  if (since.some(({ tool_calls: made = [] }) => made.some(isQuestion))) return steps
  const asked = since.some(
    (message) => message.role === 'user' && textOf(message).includes(`Asked by ${marker}.`),
  )
  return asked ? steps.filter(({ name }) => name !== 'question') : steps
}

/** True if the last call asked a question and no answer has arrived since. */
function isWaiting(since: readonly SaidMessage[]): boolean {
  const at = since.findLastIndex(({ tool_calls: made = [] }) => made.length > 0)
  const [call] = since[at]?.tool_calls ?? []
  const said = since.slice(at + 1)
  const asked = call !== undefined && isQuestion(call)
  const refused = said.some((message) => message.role === 'tool' && textOf(message).startsWith('Error'))
  return asked && !refused && !said.some(({ role }) => role === 'user')
}

function isQuestion({ function: made }: CollectedCall): boolean {
  return made?.name === 'update_task' && made.arguments.includes('"block"')
}

/** The task that was handed off last. */
function lastTask(since: readonly SaidMessage[]): AboutTask | null {
  const results = since.filter(({ role }) => role === 'tool').map(textOf)
  const found = results.map((words) => /"task_id":\s*"(task_\w+)"/.exec(words)?.[1]).findLast(Boolean)
  return found === undefined ? null : { taskId: found, question: '' }
}

/** The first question in the conversation that has no answer yet. */
function openQuestion(since: readonly SaidMessage[], calls: readonly CollectedCall[]): AboutTask | null {
  const answered = calls.map((call) => call.function?.arguments ?? '').join('\n')
  for (const message of since.filter(({ role }) => role === 'user')) {
    for (const [, taskId = '', question = ''] of textOf(message).matchAll(questionPattern)) {
      if (!answered.includes(`To ${question}, answered`)) return { taskId, question }
    }
  }
  return null
}

/** Error codes after which it is unknown whether the call had its effect. */
const unknownCodes = ['outcome-unknown', 'upstream-failed', 'upstream-timeout', 'internal-error']

/** Reads from the text of a result what became of the call. Pure. */
export function outcomeOf(words: string): NonNullable<CallFact['told']> {
  const code = /^Error \(([a-z-]+)\)/.exec(words)?.[1]
  if (code === undefined) return words.startsWith('Error') ? 'unknown' : 'done'
  return unknownCodes.includes(code) ? 'unknown' : 'refused'
}

function textOf({ content }: SaidMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('\n')
}
