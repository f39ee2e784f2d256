import { withoutMoment } from '@flotilla/protocol/moment-text'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { subagentTools, remindOfUnread } from '../builtin-tools/subagents.ts'
import type { LanguageModel, ModelAnswer, ModelRequest } from '../llm/language-model.ts'
import { runLoop } from '../loop/run-loop.ts'
import { createSubagentPool } from '../subagents/create-subagent-pool.ts'
import { createExclusiveUse } from '../tools/exclusive-use.ts'
import type { Tool } from '../tools/tool.ts'
import { aState, calls, loopParts } from './loop-parts.ts'
import type { LoopChanges } from './loop-parts.ts'
import { quietLog } from './quiet-log.ts'

/** One call of the model, with its conversation. */
export interface Thought {
  /** First message of the conversation: the goal of a sub-agent, or the question to the agent. */
  readonly goal: string
  /** Number of answers in this conversation. */
  readonly turn: number
  readonly request: ModelRequest
  readonly signal: AbortSignal
}

/** The last tool result in this conversation. */
export function lastResult({ request }: Thought): string {
  return request.messages.findLast(({ role }) => role === 'tool')?.content ?? ''
}

/** The newest user message that is not a tool result. */
export function lastSaid({ request }: Thought): string {
  return request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
}

export type Think = (thought: Thought) => Partial<ModelAnswer> | Promise<Partial<ModelAnswer>>

/** A model that answers by conversation, because many loops call it at once. */
export function aThinkingModel(think: Think): LanguageModel & { readonly thoughts: Thought[] } {
  const thoughts: Thought[] = []
  return {
    thoughts,
    answer: async (request, _onText, signal) => {
      signal.throwIfAborted()
      const first = request.messages.find(({ role }) => role === 'user')?.content ?? ''
      // The goal of a sub-agent has the time behind it.
      const goal = withoutMoment(first)
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const thought = { goal, turn, request: { ...request, messages: [...request.messages] }, signal }
      thoughts.push(thought)
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
      const answer = await Promise.race([think(thought), aborted])
      return {
        text: '',
        toolCalls: [],
        cutOff: false,
        tokens: 10,
        promptTokens: 0,
        answeredBy: null,
        costUsd: 0.001,
        ...answer,
      }
    },
  }
}

/** An answer that calls tools. */
export function uses(...wishes: readonly (readonly [name: string, input: object])[]): Partial<ModelAnswer> {
  return {
    toolCalls: calls(
      ...wishes.map(([name, input], index) => [`call_${index}`, name, JSON.stringify(input)] as const),
    ),
  }
}

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** The loop of an agent that may start sub-agents. */
export function subagentHarness(think: Think, tools: readonly Tool[] = [], changes: LoopChanges = {}) {
  const exclusive = createExclusiveUse()
  const subagents = createSubagentPool({
    depth: 0,
    runLoop,
    systemPrompt: async () => sanitizeForPrompt('be a good part'),
    exclusive,
    log: quietLog,
  })
  const model = aThinkingModel(think)
  const guarded = remindOfUnread(tools, subagents).map((tool) => exclusive.guard(tool))
  const parts = loopParts(model, [...guarded, ...subagentTools(subagents)], { subagents, ...changes })
  const state = aState('lead')
  const stopped = new AbortController()
  return {
    ...parts,
    subagents,
    model,
    state,
    stop: () => stopped.abort(new Error('stopped')),
    run: () => runLoop(parts.deps, state, stopped.signal),
    /** Goals of the conversations that have called the model, in the order in which they began. */
    goals: () => [...new Set(model.thoughts.map(({ goal }) => goal))],
  }
}
