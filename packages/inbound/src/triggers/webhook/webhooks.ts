import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Guard } from '@flotilla/identity/access'
import type { SettledRun } from '@flotilla/work/events'
import type { SubmitRun } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import { createGroupedCommit } from '@flotilla/foundation/storage'
import type { Vault } from '@flotilla/egress/credentials'
import { bodiesKeptMs, createBodyMemory } from './body-memory.ts'
import type { MemoryBounds } from './body-memory.ts'
import { createDeliveryHistory } from './delivery-history.ts'
import type { DeliveryHistory } from './delivery-history.ts'
import { createDeliveryTable } from './delivery-table.ts'
import { createGiveDelivery } from './give-delivery.ts'
import { createHookRates } from './hook-rates.ts'
import { createHookSecrets } from './hook-secrets.ts'
import { createHookTable } from './hook-table.ts'
import type { Hook } from './hook-table.ts'
import { createManageHooks } from './manage-hooks.ts'
import type { ManageHooks } from './manage-hooks.ts'
import { createReceiveHook, signedWindowMs } from './receive-hook.ts'
import type { ReceiveHook } from './receive-hook.ts'
import { createPrepareHooks } from './prepare-hooks.ts'
import type { PrepareHooks } from './prepare-hooks.ts'
import { createRefusalStore } from './refusal-store.ts'

const dayMs = 24 * 3600 * 1000

/** The limits of a webhook's history. Rows that are needed to detect repeated signed ids are always kept. */
export const historyBounds = {
  rowsMax: 500,
  rowsMaxAgeMs: bodiesKeptMs,
  payloadsMaxAgeMs: 7 * dayMs,
  keptForDuplicatesMs: signedWindowMs + 5 * 60 * 1000,
} as const

/** The API of webhooks. */
export interface Webhooks {
  readonly receive: ReceiveHook
  readonly manage: ManageHooks
  readonly history: DeliveryHistory
  /** Returns all webhooks, for modules with their own permission checks. */
  all(): readonly Hook[]
  readonly prepare: PrepareHooks
  countsOf: ReturnType<typeof createDeliveryTable>['countsOf']
  /** Records the outcome of a delivery's run, in the transaction that settles the run. */
  readonly runSettled: (run: SettledRun) => void
  /** Deletes the webhooks of a deleted agent. */
  forget(agentId: string): void
  /** Writes the counts of rejections and deletes old data. Called once a minute. */
  maintain(): void
}

export interface WebhooksDeps {
  readonly database: Database
  readonly vault: Pick<Vault, 'system' | 'names' | 'storeSystem' | 'removeSystem'>
  readonly submitRun: SubmitRun
  readonly requireAgent: (agentId: string) => void
  readonly perMinute: () => number
  readonly guard: Guard
  readonly journal: Journal
  readonly clock: Clock
  readonly newId: NewId
  readonly randomBytes: (count: number) => Uint8Array
  readonly log: Log
  /** The limits of the body memory; if left out, the default limits. */
  readonly memoryBounds?: MemoryBounds
}

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { database, clock, log } = deps
  const hooks = createHookTable(database)
  const deliveries = createDeliveryTable(database)
  const bodies = createBodyMemory({ database, bounds: deps.memoryBounds })
  const secrets = createHookSecrets({ ...deps, hooks })
  const rates = createHookRates(deps)
  const refusals = createRefusalStore({ database, deliveries, clock })
  const give = createGiveDelivery({ ...deps, deliveries })
  const commits = createGroupedCommit(database)
  const room = { ...deps, hooks, deliveries, bodies, secrets, rates, refusals, give, commits }

  function sweepSecrets(): void {
    secrets.sweep(clock.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'failed to remove old webhook secrets from .env; retrying in a minute')
    })
  }

  return {
    receive: createReceiveHook(room),
    manage: createManageHooks(room),
    history: createDeliveryHistory(room),
    all: hooks.all,
    prepare: createPrepareHooks(room),
    countsOf: deliveries.countsOf,
    runSettled: (run) => {
      if (run.origin.kind !== 'webhook' || run.outcome === null) return
      const { status, code } = run.outcome
      deliveries.settle(run.id, code === undefined ? status : `${status}: ${code}`, clock.now())
    },
    forget: (agentId) => {
      for (const { id } of hooks.ofAgent(agentId)) {
        hooks.remove(id)
        rates.forget(id)
        refusals.forget(id)
      }
      database.afterCommit(sweepSecrets)
    },
    maintain: () => {
      refusals.flush()
      const now = clock.now()
      database.transaction(() => {
        bodies.sweep()
        deliveries.dropOlder(now - historyBounds.rowsMaxAgeMs)
        for (const { id } of hooks.all()) {
          deliveries.dropBehind(id, historyBounds.rowsMax, now - historyBounds.keptForDuplicatesMs)
          deliveries.dropPayloads(id, historyBounds.rowsMax, now - historyBounds.payloadsMaxAgeMs)
        }
      })
      sweepSecrets()
    },
  }
}
