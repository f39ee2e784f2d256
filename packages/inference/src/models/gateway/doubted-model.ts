import { coolDownLeftMs, healthAfter, healthy } from './model-health.ts'
import type { HealthEvent, ModelHealth } from './model-health.ts'

type Failed = Extract<HealthEvent, { kind: 'failed' }>

/**
 * The failures of one model that may be caused by the calls of one root agent, by root agent. A root agent with such
 * a failure gets its own cooldown: its calls prefer a fallback, and use the model only as a last resort.
 */
export interface DoubtedModel {
  /**
   * Records a failure; returns true if a second root agent has failed too, with no answer to any agent in between.
   */
  failed(rootId: string, event: Failed, now: number): boolean
  /** Ends this root agent's cooldown. Failures of any root agent until `askedAt` no longer confirm later ones. */
  answered(rootId: string, askedAt: number, now: number): void
  /** Returns the remaining cooldown of this root agent in milliseconds; 0 if it has none. */
  leftMs(rootId: string, now: number): number
}

/**
 * The maximum number of root agents with a failure that are tracked for one model; the earliest failure is dropped
 * first.
 */
const rootsMax = 100
/** How many root agents must fail before the model cools for all. Descendants count as their root. */
const confirmingRoots = 2
/** Failures of two root agents confirm each other only if they are at most this far apart, in milliseconds. */
const confirmsWithinMs = 600_000

export function createDoubtedModel(): DoubtedModel {
  const byRoot = new Map<string, ModelHealth>()
  /** The time of each root agent's last failure, if no agent got an answer since. */
  const failedAt = new Map<string, number>()

  return {
    failed(rootId, event, now) {
      setLast(byRoot, rootId, healthAfter(byRoot.get(rootId) ?? healthy, event, now))
      setLast(failedAt, rootId, now)
      const recent = [...failedAt.values()].filter((at) => at <= now && now - at <= confirmsWithinMs)
      return recent.length >= confirmingRoots
    },
    answered(rootId, askedAt, now) {
      for (const [id, at] of failedAt) if (at <= askedAt) failedAt.delete(id)
      const health = byRoot.get(rootId) ?? healthy
      if (healthAfter(health, { kind: 'answered', askedAt }, now).kind === 'ok') byRoot.delete(rootId)
    },
    leftMs: (rootId, now) => coolDownLeftMs(byRoot.get(rootId) ?? healthy, now),
  }
}

function setLast<T>(map: Map<string, T>, id: string, value: T): void {
  map.delete(id)
  map.set(id, value)
  const [first] = map.keys()
  if (map.size > rootsMax && first !== undefined) map.delete(first)
}
