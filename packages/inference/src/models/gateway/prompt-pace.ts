import type { PrefixBreak, PromptPrefix } from '../formats/prompt-prefix.ts'
import type { CacheTime } from '../formats/prompt-cache.ts'
import { breakBetween } from '../formats/prompt-prefix.ts'

/** The most conversations that are remembered; the one that was used longest ago is forgotten first. */
const conversationsMax = 1000
/** The most messages of a conversation whose hashes are kept. */
const messagesMax = 5000
const shortMs = 5 * 60_000
const longMs = 3600_000

/** One call of a conversation, as it will be sent. */
export interface PacedCall {
  /** The conversation: its calls repeat each other's beginning. */
  readonly conversation: string
  readonly runId: string
  readonly prefix: PromptPrefix
  /** True if the run has work elsewhere that it will wait for: child tasks, approvals, questions to a person. */
  readonly willWait: boolean
}

/**
 * Remembers the last call of each conversation, to choose how long providers keep its prompt and to say why a call
 * does not find it in the cache.
 */
export interface PromptPace {
  /**
   * An hour if the run will wait for others, or if this conversation last paused for more than five minutes and at
   * most an hour, as the next pause is likely to be alike. A write for an hour costs 2 times the price instead of
   * 1.25, and saves a new write after such a pause.
   */
  sees(call: PacedCall, now: number): { readonly keep: CacheTime; readonly broken: PrefixBreak | null }
}

interface Seen {
  readonly at: number
  readonly runId: string
  readonly isSlow: boolean
  readonly prefix: PromptPrefix
}

export function createPromptPace(): PromptPace {
  const seen = new Map<string, Seen>()
  return {
    sees({ conversation, runId, prefix, willWait }, now) {
      const before = seen.get(conversation)
      const isSlow = before !== undefined && paceOf(before, { runId, now })
      seen.delete(conversation)
      seen.set(conversation, { at: now, runId, isSlow, prefix: bounded(prefix) })
      const [oldest] = seen.keys()
      if (seen.size > conversationsMax && oldest !== undefined) seen.delete(oldest)
      return {
        keep: willWait || isSlow ? '1h' : '5m',
        broken: before === undefined ? null : breakBetween(before.prefix, prefix),
      }
    },
  }
}

/** A pause decides; the quick rounds of the same run that follow it change nothing. */
function paceOf(before: Seen, { runId, now }: { readonly runId: string; readonly now: number }): boolean {
  const pauseMs = now - before.at
  if (pauseMs > shortMs) return pauseMs <= longMs
  return runId === before.runId && before.isSlow
}

function bounded(prefix: PromptPrefix): PromptPrefix {
  return prefix.messages.length <= messagesMax
    ? prefix
    : { ...prefix, messages: prefix.messages.slice(0, messagesMax) }
}
