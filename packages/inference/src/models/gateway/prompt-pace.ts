import type { PrefixBreak, PromptPrefix } from '../formats/prompt-prefix.ts'
import type { CacheTime } from '../formats/prompt-cache.ts'
import { breakBetween } from '../formats/prompt-prefix.ts'

/** The maximum number of conversations that are remembered; the least recently used one is forgotten first. */
const conversationsMax = 1000
/** The most conversations of one agent that are remembered, so that it cannot make those of others forgotten. */
const agentConversationsMax = 100
/** The most messages of a conversation whose hashes are kept. */
const messagesMax = 1000
/** The most parts of the instructions before a conversation whose hashes are kept. */
const systemPartsMax = 100
const shortMs = 5 * 60_000
/** The longer cache lifetime, an hour, in milliseconds. */
const longMs = 3600_000

/** One call of a conversation, as it will be sent. */
export interface PacedCall {
  readonly agentId: string
  /** The conversation: its calls repeat each other's beginning. */
  readonly conversation: string
  readonly runId: string
  readonly prefix: PromptPrefix
  /** True if the run will wait for child tasks, approvals, or questions to a person. */
  readonly willWait: boolean
}

/**
 * Remembers the last call of each conversation, to choose how long providers keep its prompt and to say why a call
 * does not find it in the cache.
 */
export interface PromptPace {
  /**
   * Records a call and returns how long the provider should cache its prompt, and what breaks the cache. The prompt
   * is cached for an hour if the run will wait for others, or if the last pause of this conversation took between
   * five minutes and an hour, because the next pause is probably similar. To write the cache for an hour costs 2
   * times the input price instead of 1.25, and saves another write after such a pause.
   */
  sees(call: PacedCall, now: number): { readonly keep: CacheTime; readonly broken: PrefixBreak | null }
}

interface Seen {
  readonly agentId: string
  readonly at: number
  readonly runId: string
  readonly isSlow: boolean
  readonly prefix: PromptPrefix
}

export function createPromptPace(): PromptPace {
  const seen = new Map<string, Seen>()
  return {
    sees({ agentId, conversation, runId, prefix, willWait }, now) {
      const before = seen.get(conversation)
      const isSlow = before !== undefined && paceOf(before, { runId, now })
      seen.delete(conversation)
      seen.set(conversation, { agentId, at: now, runId, isSlow, prefix: bounded(prefix) })
      const own = [...seen].filter(([, one]) => one.agentId === agentId).map(([key]) => key)
      const [oldest] = own.length > agentConversationsMax ? own : seen.keys()
      const isFull = own.length > agentConversationsMax || seen.size > conversationsMax
      if (isFull && oldest !== undefined) seen.delete(oldest)
      return {
        keep: willWait || isSlow ? '1h' : '5m',
        broken: before === undefined ? null : breakBetween(before.prefix, comparable(prefix)),
      }
    },
  }
}

/**
 * Returns whether the prompt should be cached for an hour. Each pause of more than five minutes decides this anew;
 * later calls of the same run that follow without such a pause keep the decision.
 */
function paceOf(before: Seen, { runId, now }: { readonly runId: string; readonly now: number }): boolean {
  const pauseMs = now - before.at
  if (pauseMs > shortMs) return pauseMs <= longMs
  return runId === before.runId && before.isSlow
}

function bounded(prefix: PromptPrefix): PromptPrefix {
  const { system, messages } = comparable(prefix)
  return { ...prefix, system, messages: messages.slice(0, messagesMax) }
}

/** Returns a prefix with the instructions that are compared. */
function comparable(prefix: PromptPrefix): PromptPrefix {
  return { ...prefix, system: prefix.system.slice(0, systemPartsMax) }
}
