import type { Clock } from '@flotilla/protocol/clock'

/** Calls that wait for a change of something, by its id. In memory only. */
export interface Waiters {
  /** Resolves when the id is woken, the time is up or the waiting client has disconnected. */
  wait(id: string, waitMs: number, gone: AbortSignal): Promise<void>
  wake(id: string): void
}

export function createWaiters({ clock }: { readonly clock: Clock }): Waiters {
  const waiting = new Map<string, Set<() => void>>()
  return {
    wait: async (id, waitMs, gone) => {
      const over = new AbortController()
      const signal = AbortSignal.any([over.signal, gone])
      const those = waiting.get(id) ?? new Set()
      waiting.set(id, those)
      const go = (): void => over.abort()
      those.add(go)
      try {
        await clock.sleep(waitMs, signal)
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        those.delete(go)
        if (those.size === 0) waiting.delete(id)
      }
    },
    wake: (id) => {
      for (const go of waiting.get(id) ?? []) go()
    },
  }
}
