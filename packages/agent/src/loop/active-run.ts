import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { RunRequest } from './run-request.ts'

/** What a run tells the slot while it works. */
export interface RunHooks {
  onFrame(frame: ChatFrame): void
  onStep(step: number): void
  /** The mesh called our fence stale. */
  onTakenOver(): void
  /** True once the run was stopped for another attempt to go on with: then nothing of this one may be stored. */
  isLeftToAnother(): boolean
  /** Everything that was said to this life of the run, in order. */
  steers(): readonly SteerMessage[]
}

/** Why a run was stopped from outside. Only `cancelled` is its end; otherwise someone else goes on with it. */
export type AbortReason = 'cancelled' | 'superseded' | 'taken-over' | 'stopping'

/** A run that is going on, with whoever listens to it. */
export interface ActiveRun {
  readonly request: RunRequest
  readonly signal: AbortSignal
  readonly hooks: RunHooks
  /** Never rejects. */
  readonly ended: Promise<TaskResult>
  step(): number
  lastStepAt(): number
  /** Something was said to it; what it knows by its id it has heard. The mesh bounds how much that is. Gives the new ones. */
  hear(steers: readonly SteerMessage[]): readonly SteerMessage[]
  abort(reason: AbortReason): void
  abortedFor(): AbortReason | null
  /** Calls back with every frame from now on, the last of which is `done`. Returns how to stop listening. */
  follow(listener: (frame: ChatFrame) => void): () => void
  end(result: TaskResult): void
}

export function createActiveRun(request: RunRequest, clock: Clock): ActiveRun {
  const controller = new AbortController()
  const listeners = new Set<(frame: ChatFrame) => void>()
  const { promise: ended, resolve } = Promise.withResolvers<TaskResult>()
  const heard = new Map<string, SteerMessage>()
  let step = 0
  let lastStepAt = clock.now()
  let abortedFor: AbortReason | null = null

  const tell = (frame: ChatFrame): void => {
    for (const listener of listeners) listener(frame)
  }
  const abort = (reason: AbortReason): void => {
    if (abortedFor !== null) return
    abortedFor = reason
    const code = reason === 'cancelled' || reason === 'stopping' ? 'cancelled' : 'stale-fence'
    controller.abort(new Problem(code, { detail: `The run was stopped: ${reason}.` }))
  }
  return {
    request,
    signal: controller.signal,
    hooks: {
      onFrame: tell,
      onStep: (next) => {
        step = next
        lastStepAt = clock.now()
      },
      onTakenOver: () => abort('taken-over'),
      isLeftToAnother: () => abortedFor !== null && abortedFor !== 'cancelled',
      steers: () => [...heard.values()],
    },
    ended,
    step: () => step,
    lastStepAt: () => lastStepAt,
    hear: (steers) => {
      const fresh = steers.filter(({ id }) => !heard.has(id))
      for (const steer of fresh) heard.set(steer.id, steer)
      return fresh
    },
    abort,
    abortedFor: () => abortedFor,
    follow: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    end: (result) => {
      tell({ type: 'done', result })
      listeners.clear()
      resolve(result)
    },
  }
}
