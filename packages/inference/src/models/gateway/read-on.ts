import type { Clock } from '@flotilla/protocol/clock'
import { createFairShare } from '@flotilla/foundation/intake'
import type { ShareBounds } from '@flotilla/foundation/intake'
import type { UnknownCost } from '../../spending/index.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

/**
 * Continues to read an answer after its client has disconnected. A provider bills all generated tokens, and closing
 * the connection shows neither whether the model stopped nor how much it generated. So the mesh reads the answer
 * until its usage arrives; the reservation stays open meanwhile. Time, bytes, and calls (per agent and in total) are
 * limited: beyond a limit the provider is cut off, and the whole reservation is charged.
 */
export interface ReadOn {
  begin(agentId: string): ClientConnection
  /** Returns the number of an agent's calls that are read after the client has left. */
  openOf(agentId: string): number
  /** Waits a short time for open reads, then cuts them off; for a clean stop. */
  close(): Promise<void>
}

/** Tracks for one call whether the client has left and whether to cut the provider off. */
export interface ClientConnection {
  /** Aborts when the provider is to be cut off. */
  readonly cut: AbortSignal
  /** Aborts when the client has disconnected. */
  readonly left: AbortSignal
  /** Why the mesh cut the provider off; null if it did not. */
  why(): UnknownCost | null
  clientLeft(reason?: unknown): void
  /** Counts bytes that arrived after the client had disconnected. */
  countLate(bytes: number): void
  /** Reports an open attempt; an attempt without cost is not read on. Returns the function to call at its end. */
  opened(costs: boolean): () => void
}

const afterCutMaxMs = 500

export interface ReadOnLimits {
  /** The time limit; only the longest answers take longer. */
  readonly maxMs: number
  /** The limit for one answer, bytes; 16,384 tokens as stream events take half of this limit. */
  readonly maxBytes: number
  /** The limits of calls that are read on at the same time, per agent and in total. */
  readonly share: ShareBounds
  /** The wait at a stop of the mesh for answers that are nearly complete. */
  readonly closeMs: number
}

export const readOnLimits: ReadOnLimits = {
  maxMs: 120_000,
  maxBytes: 8 * 1024 * 1024,
  share: agentShareLimits.readOn,
  closeMs: 2000,
}

const cutOff = new Error('disconnected from the provider: the client is gone')
const clientLeft = new Error('the client is gone')

interface ReadingOn {
  readonly agentId: string
  readonly cutFor: (why: UnknownCost) => void
  /** Ends the wait for the time limit. */
  readonly over: AbortController
}

export function createReadOn(deps: {
  readonly clock: Clock
  readonly limits?: Partial<ReadOnLimits>
}): ReadOn {
  const limits = { ...readOnLimits, ...deps.limits }
  const open = new Set<ReadingOn>()
  const share = createFairShare(limits.share)
  let isClosing = false
  let emptied = Promise.withResolvers<void>()

  /** Takes a place in the agent's share. Returns why the call may not be read on; null if it may. */
  function refusal(agentId: string): UnknownCost | null {
    if (isClosing) return 'mesh-stopped'
    return share.take(agentId, 1) === null ? null : 'read-on-crowded'
  }

  async function watch(one: ReadingOn): Promise<void> {
    open.add(one)
    try {
      await deps.clock.sleep(limits.maxMs, one.over.signal)
      one.cutFor('read-on-time')
    } catch {
      // The wait was aborted, which means that `end` has removed this open read already.
    }
  }

  function end(one: ReadingOn): void {
    if (!open.delete(one)) return
    share.giveBack(one.agentId, 1)
    one.over.abort(clientLeft)
    if (open.size > 0) return
    emptied.resolve()
    emptied = Promise.withResolvers()
  }

  function begin(agentId: string): ClientConnection {
    const cutting = new AbortController()
    const leaving = new AbortController()
    let why: UnknownCost | null = null
    let attempts = 0
    let isWorth = false
    let bytesHeard = 0
    let reading: ReadingOn | null = null

    function cutFor(reason: UnknownCost): void {
      if (cutting.signal.aborted) return
      why = reason
      cutting.abort(cutOff)
    }

    function leave(reason: unknown = clientLeft): void {
      if (leaving.signal.aborted) return
      leaving.abort(reason)
      if (attempts === 0) return
      const refused = isWorth ? refusal(agentId) : 'broken-off'
      if (refused !== null) {
        cutFor(refused)
        return
      }
      reading = { agentId, cutFor, over: new AbortController() }
      void watch(reading)
    }

    return {
      cut: cutting.signal,
      left: leaving.signal,
      why: () => why,
      clientLeft: leave,
      countLate(bytes) {
        bytesHeard += bytes
        if (bytesHeard > limits.maxBytes) cutFor('read-on-bytes')
      },
      opened(costs) {
        attempts++
        isWorth = costs
        let isOpen = true
        return () => {
          if (!isOpen) return
          isOpen = false
          attempts--
          if (reading && attempts === 0) end(reading)
        }
      },
    }
  }

  return {
    begin,
    openOf: share.of,
    async close() {
      isClosing = true
      if (open.size === 0) return
      const late = new AbortController()
      const emptiedWithin = (ms: number) =>
        Promise.race([emptied.promise, deps.clock.sleep(ms, late.signal).catch(() => {})])
      await emptiedWithin(limits.closeMs)
      for (const one of open) one.cutFor('mesh-stopped')
      if (open.size > 0) await emptiedWithin(afterCutMaxMs)
      late.abort(clientLeft)
    },
  }
}
