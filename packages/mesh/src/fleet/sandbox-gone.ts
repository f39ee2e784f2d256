import type { Log } from '../log.ts'

/** A sandbox that worked is no more: whatever ran in it was cut off and can be sent again. */
export interface SandboxGone {
  readonly agentId: string
  readonly reason: 'died' | 'stopped' | 'restarted' | 'deleted'
}

export interface SandboxGoneListeners {
  add(listener: (gone: SandboxGone) => void): () => void
  /** A listener that throws is logged and kept. */
  tell(gone: SandboxGone): void
}

export function createSandboxGoneListeners(log: Log): SandboxGoneListeners {
  const listeners = new Set<(gone: SandboxGone) => void>()
  return {
    add: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    tell: (gone) => {
      for (const listener of listeners) {
        try {
          listener(gone)
        } catch (error) {
          log.error({ agentId: gone.agentId, err: error }, 'a listener failed on a sandbox that is gone')
        }
      }
    },
  }
}
