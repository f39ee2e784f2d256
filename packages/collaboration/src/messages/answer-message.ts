import { messageLimits } from '@flotilla/protocol/message-limits'
import { Problem } from '@flotilla/protocol/problem'
import { createWaiters } from '@flotilla/foundation/platform'
import type { Caller } from '@flotilla/identity/access'
import type { SettledRun } from '@flotilla/work/events'
import { announceMessage } from './message-deps.ts'
import type { MessageDeps } from './message-deps.ts'
import type { MessageRecord } from './message-table.ts'

/** Longest answer in characters; longer content belongs in an artifact. */
const answerMaxChars = 20_000

export interface Answers {
  /** Delivers the answer to the asking run once, in the transaction that settles the answering run. */
  runSettled(run: SettledRun): void
  /**
   * Returns the message once it is answered, or in its current state when the time is up or `gone` aborts. An answer
   * that is returned here is not delivered again after the turn. Repeating the call changes nothing. Problems
   * `denied`, `stale-fence`, `not-found`.
   */
  awaitAnswer(
    caller: Caller,
    request: { readonly id: string; readonly waitSeconds: number },
    gone: AbortSignal,
  ): Promise<MessageRecord>
}

export function createAnswers(deps: MessageDeps): Answers {
  const { database, clock, guard, table, runs, events } = deps
  const waiters = createWaiters({ clock })

  /** Marks an answer as read by the asking run, so that no later turn receives it again. Returns the message. */
  function take(message: MessageRecord): MessageRecord {
    if (message.state === 'answered') runs.takeNote(message.asking_run_id, sourceOf(message))
    return message
  }

  function own(caller: Caller, id: string): MessageRecord {
    if (caller.kind !== 'agent' || !caller.run) throw new Problem('stale-fence')
    runs.live.ticketOf(caller.run.runId, caller.run.fence)
    const message = table.find(id)
    if (!message || message.asking_run_id !== caller.run.runId) throw new Problem('not-found')
    return message
  }

  return {
    runSettled: (run) => {
      const message = table.sentTo(run.id)
      if (!message || !run.outcome) return
      const { status: state, text } = run.outcome
      const answer = { state, text: text.slice(0, answerMaxChars) }
      table.answer(message.id, answer, clock.now())
      const now = table.find(message.id) ?? message
      runs.notifyRun(message.asking_run_id, sourceOf(message), {
        kind: 'message-answer',
        agent: message.recipient,
        said: message.text,
        ...answer,
      })
      announceMessage(events, now)
      database.afterCommit(() => waiters.wake(message.id))
    },
    awaitAnswer: async (caller, { id, waitSeconds }, gone) => {
      guard(caller, { do: 'act-for-self', agentId: caller.kind === 'agent' ? caller.agentId : '' })
      const question = own(caller, id)
      const waitMs = Math.min(waitSeconds, messageLimits.waitMaxSeconds) * 1000
      if (question.state === 'sent' && waitMs > 0) await waiters.wait(id, waitMs, gone)
      // If the asking run ended during the wait, the caller must not receive the answer.
      return database.transaction(() => take(own(caller, id)))
    },
  }
}

function sourceOf({ id }: MessageRecord): string {
  return `message:${id}`
}
