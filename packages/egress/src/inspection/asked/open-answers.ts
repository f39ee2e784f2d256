import type { Clock } from '@flotilla/protocol/clock'
import type { KeptAnswer } from '../terminate/asked-request.ts'

interface OpenAnswer {
  readonly resolve: (answer: KeptAnswer) => void
  readonly reject: (error: unknown) => void
  /** Ends the time limit: from now on, the answer is on its way. */
  readonly sending: () => void
}

/** The programs whose requests are held open while a person is asked, by the `once` of the approval. In memory only. */
export interface OpenAnswers {
  /**
   * Waits for the answer. Rejects with what `late` returns if sending has not begun within the time limit, or with
   * the signal's reason.
   */
  wait(
    once: string,
    limit: { readonly ms: number; readonly late: () => Error; readonly signal: AbortSignal },
  ): Promise<KeptAnswer>
  sending(once: string): void
  answer(once: string, answer: KeptAnswer): void
  refuse(once: string, error: unknown): void
}

export function createOpenAnswers({ clock }: { readonly clock: Clock }): OpenAnswers {
  const open = new Map<string, Set<OpenAnswer>>()
  const each = (once: string, act: (answer: OpenAnswer) => void): void => open.get(once)?.forEach(act)
  return {
    wait: async (once, { ms, late, signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<KeptAnswer>()
      const sent = new AbortController()
      const held: OpenAnswer = { resolve, reject, sending: () => sent.abort() }
      const all = open.get(once) ?? new Set()
      open.set(once, all.add(held))
      const cut = () => reject(signal.reason)
      signal.addEventListener('abort', cut, { once: true })
      if (signal.aborted) cut()
      void clock.sleep(ms, sent.signal).then(
        () => reject(late()),
        () => {},
      )
      try {
        return await promise
      } finally {
        sent.abort()
        signal.removeEventListener('abort', cut)
        all.delete(held)
        if (all.size === 0) open.delete(once)
      }
    },
    sending: (once) => each(once, ({ sending }) => sending()),
    answer: (once, answer) => each(once, ({ resolve }) => resolve(answer)),
    refuse: (once, error) => each(once, ({ reject }) => reject(error)),
  }
}
