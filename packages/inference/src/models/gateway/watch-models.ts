import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal, JournalEntry } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import { createDoubtedModel } from './doubted-model.ts'
import type { DoubtedModel } from './doubted-model.ts'
import type { Failure } from './failover.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import { coolDownLeftMs, healthAfter, healthy, isShut } from './model-health.ts'
import type { ModelHealth } from './model-health.ts'

export interface WatchedModel {
  readonly id: string
  readonly health: ModelHealth
  readonly answered: number
  readonly failed: number
  readonly lastError: { readonly code: string; readonly detail: string; readonly at: number } | null
}

/**
 * Tracks the health of each model in memory. A restart of the mesh resets it, and so does a change of the settings or
 * keys that the model depends on. Announces the start and the end of each cooldown.
 */
export interface ModelWatch {
  /**
   * Returns the remaining cooldown of a model for one agent in milliseconds: that of all agents, or the agent's own
   * if it is longer.
   */
  coolDownLeftMs(model: CatalogModel, agentId: string): number
  /**
   * The provider's problem if the model's key or account was refused and its cooldown still lasts; otherwise null.
   */
  refusalOf(model: CatalogModel): Problem | null
  answered(model: CatalogModel, call: Asked): void
  failed(model: CatalogModel, failure: Failure, call: Asked): void
  /** Returns a model that was called since the start of the mesh; null for any other model. */
  find(id: string): WatchedModel | null
  list(): readonly WatchedModel[]
}

/** The agent that sent a call, and the time of the call. */
export interface Asked {
  readonly agentId: string
  readonly at: number
}

interface ModelWatchDeps {
  readonly rootOf: (agentId: string) => string
  readonly clock: Clock
  readonly log: Log
  readonly events: Pick<EventBus, 'publish'>
  readonly journal: Journal
}

interface Entry {
  /** The catalog's object, which is replaced when settings or keys change. */
  readonly model: CatalogModel
  health: ModelHealth
  readonly doubted: DoubtedModel
  answered: number
  failed: number
  lastError: WatchedModel['lastError']
  /** The problem of the last failure. */
  problem: Problem | null
}

/** The most models tracked: an agent that may use `provider/*` can make names up. */
const entriesMax = 1000
/** How much of the reason for a model's failure is shown, in characters. */
const detailMaxChars = 300

export function createModelWatch(deps: ModelWatchDeps): ModelWatch {
  const entries = new Map<string, Entry>()

  function entryOf(model: CatalogModel): Entry {
    const known = entries.get(model.id)
    if (known?.model === model) return known
    const entry: Entry = {
      model,
      health: healthy,
      doubted: createDoubtedModel(),
      answered: 0,
      failed: 0,
      lastError: null,
      problem: null,
    }
    entries.delete(model.id)
    entries.set(model.id, entry)
    if (entries.size > entriesMax) forgetOne(entries)
    return entry
  }

  /** Records and publishes a change of health. A failed write is only logged, so that no model call is affected. */
  function announce(entry: JournalEntry, event: FleetEventBody): void {
    try {
      deps.journal.append(entry)
      deps.events.publish(event)
    } catch (error) {
      deps.log.error(
        { model: entry.subject, err: error },
        'failed to publish a health change of a model; calls use it anyway',
      )
    }
  }

  function announceCooling(
    id: string,
    health: Extract<ModelHealth, { kind: 'cooling' }>,
    { code, detail }: Problem,
  ): void {
    const { failures } = health
    const seconds = Math.ceil((health.until - health.since) / 1000)
    deps.log.warn(
      { model: id, code, seconds, failures },
      'a model failed repeatedly; not calling it during its cooldown',
    )
    announce(
      { actor: 'system', action: 'model.cooled', subject: id, detail: { code, seconds, failures } },
      { type: 'model.cooling', model: id, seconds, failures, code, detail: detail.slice(0, detailMaxChars) },
    )
  }

  function announceRecovered(id: string, failures: number): void {
    deps.log.info({ model: id, failures }, 'a model answers again; its cooldown has ended')
    announce(
      { actor: 'system', action: 'model.recovered', subject: id, detail: { failures } },
      { type: 'model.recovered', model: id },
    )
  }

  return {
    coolDownLeftMs: (model, agentId) => {
      const entry = entries.get(model.id)
      if (entry?.model !== model) return 0
      const now = deps.clock.now()
      return Math.max(coolDownLeftMs(entry.health, now), entry.doubted.leftMs(deps.rootOf(agentId), now))
    },
    refusalOf: (model) => {
      const entry = entries.get(model.id)
      return entry?.model === model && isShut(entry.health, deps.clock.now()) ? entry.problem : null
    },
    answered(model, { agentId, at: askedAt }) {
      const entry = entryOf(model)
      const now = deps.clock.now()
      entry.answered++
      entry.doubted.answered(deps.rootOf(agentId), askedAt, now)
      if (entry.health.kind === 'ok') return
      const { failures } = entry.health
      entry.health = healthAfter(entry.health, { kind: 'answered', askedAt }, now)
      if (entry.health.kind === 'ok') announceRecovered(model.id, failures)
    },
    failed(model, { kind, problem, retryAfterMs, affects }, { agentId, at: askedAt }) {
      if (kind === null || kind === 'too-large') return
      const entry = entryOf(model)
      const now = deps.clock.now()
      const failuresBefore = entry.health.kind === 'cooling' ? entry.health.failures : 0
      entry.failed++
      entry.lastError = { code: problem.code, detail: problem.detail.slice(0, detailMaxChars), at: now }
      if (affects === 'call') return
      const isUnproven = affects === 'agent'
      const event = { kind: 'failed', askedAt, failure: kind, retryAfterMs, isUnproven } as const
      if (isUnproven && !entry.doubted.failed(deps.rootOf(agentId), event, now)) {
        deps.log.info(
          { model: model.id, agent: agentId, code: problem.code },
          'a model failed for one agent without proof; only this agent prefers its fallbacks during a cooldown',
        )
        return
      }
      entry.problem = problem
      entry.health = healthAfter(entry.health, event, now)
      if (entry.health.kind === 'cooling' && entry.health.failures > failuresBefore) {
        announceCooling(model.id, entry.health, problem)
      }
    },
    find: (id) => {
      const entry = entries.get(id)
      return entry ? viewOf(id, entry) : null
    },
    list: () => [...entries].map(([id, entry]) => viewOf(id, entry)),
  }
}

function viewOf(id: string, { health, answered, failed, lastError }: Entry): WatchedModel {
  return { id, health, answered, failed, lastError }
}

/** Drops the oldest healthy model; the oldest of all if none is healthy. */
function forgetOne(entries: Map<string, Entry>): void {
  for (const [id, { health }] of entries) {
    if (health.kind !== 'ok') continue
    entries.delete(id)
    return
  }
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}
