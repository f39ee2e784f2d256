import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { RunRequest } from './run-request.ts'

/** Functions that a run calls to notify its slot. */
export interface RunHooks {
  onFrame(frame: ChatFrame): void
  onStep(step: number): void
  /** Called when the mesh rejects the run's fencing token as stale. */
  onTakenOver(): void
  /**
   * True once the run was stopped because another attempt continues it: then this attempt must not store anything.
   */
  isLeftToAnother(): boolean
  /** All steers that this attempt of the run received, in order. */
  steers(): readonly SteerMessage[]
}

/** Why a run was stopped from outside. Only `cancelled` ends it; otherwise another attempt continues it. */
export type AbortReason = 'cancelled' | 'superseded' | 'taken-over' | 'stopping'

/** A run that is executing, with its subscribers. */
export interface ActiveRun {
  readonly request: RunRequest
  readonly signal: AbortSignal
  readonly hooks: RunHooks
  /** Never rejects. */
  readonly ended: Promise<TaskResult>
  step(): number
  lastStepAt(): number
  /**
   * Adds steers to the run and returns the new ones; known ids are ignored. The mesh bounds their number and size.
   */
  hear(steers: readonly SteerMessage[]): readonly SteerMessage[]
  abort(reason: AbortReason): void
  abortedFor(): AbortReason | null
  /**
   * Calls the listener with every frame from now on, the last of which is `done`. Returns the unsubscribe function.
   */
  follow(listener: (frame: ChatFrame) => void): () => void
  end(result: TaskResult): void
}

export function createActiveRun(request: RunRequest, clock: Clock): ActiveRun {
  const controller = new AbortController()
  const listeners = new Set<(frame: ChatFrame) => void>()
  const { promise: ended, resolve } = Promise.withResolvers<TaskResult>()
  const steersById = new Map<string, SteerMessage>()
  let step = 0
  let lastStepAt = clock.now()
  let abortedFor: AbortReason | null = null

  const publish = (frame: ChatFrame): void => {
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
      onFrame: publish,
      onStep: (next) => {
        step = next
        lastStepAt = clock.now()
      },
      onTakenOver: () => abort('taken-over'),
      isLeftToAnother: () => abortedFor !== null && abortedFor !== 'cancelled',
      steers: () => [...steersById.values()],
    },
    ended,
    step: () => step,
    lastStepAt: () => lastStepAt,
    hear: (steers) => {
      const fresh = steers.filter(({ id }) => !steersById.has(id))
      for (const steer of fresh) steersById.set(steer.id, steer)
      return fresh
    },
    abort,
    abortedFor: () => abortedFor,
    follow: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    end: (result) => {
      publish({ type: 'done', result })
      listeners.clear()
      resolve(result)
    },
  }
}
