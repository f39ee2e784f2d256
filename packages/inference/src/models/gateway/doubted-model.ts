import { coolDownLeftMs, healthAfter, healthy } from './model-health.ts'
import type { HealthEvent, ModelHealth } from './model-health.ts'

type Failed = Extract<HealthEvent, { kind: 'failed' }>

/**
 * The failures of one model that prove nothing about other callers, by root agent. A root agent with such a failure
 * gets a cooldown of its own. It avoids the model while a fallback is free, and the model stays its last resort.
 */
export interface DoubtedModel {
  /**
   * Records a failure; returns true if a second root agent has failed too, with no answer to any agent in between.
   */
  failed(rootId: string, event: Failed, now: number): boolean
  /** Ends the cooldown of this root agent, and makes earlier failures of all others count for themselves only. */
  answered(rootId: string, askedAt: number, now: number): void
  /** Returns the rest of this root agent's cooldown in milliseconds; 0 without one. */
  leftMs(rootId: string, now: number): number
}

/** The most root agents that are tracked for one model; the one that failed first is forgotten first. */
const rootsMax = 100
/** How many root agents must fail before the model cools for all. Descendants count as their root. */
const confirmingRoots = 2
/** Failures further apart than this do not confirm each other, milliseconds. */
const confirmsWithinMs = 600_000

export function createDoubtedModel(): DoubtedModel {
  const byRoot = new Map<string, ModelHealth>()
  /** When each root agent failed last, without a later answer to any agent. */
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
