import { createBudgetBook } from './compose-budgets.ts'
import type { CommandContext } from './commands/command-context.ts'
import type { Settings } from '../config/settings-file.ts'
import { readTextFile } from '../config/atomic-file.ts'
import type { SettingsFile } from '../config/watch-settings.ts'
import type { EventBus } from '../events/event-bus.ts'
import { join } from 'node:path'
import type { AgentRecord } from '../agents/registry/agent-record.ts'
import type { LoopShare } from '../intake/loop-share.ts'
import { createAnswerBounds } from '../models/gateway/answer-bounds.ts'
import { createBudgetWarnings } from '../spending/budget-warnings.ts'
import { chatDialect } from '../models/formats/chat-dialect.ts'
import { createComplete } from '../models/gateway/complete.ts'
import { createCountTokens } from '../models/gateway/count-tokens.ts'
import { embeddingsDialect } from '../models/formats/embeddings-dialect.ts'
import { createHoldLease } from '../runs/hold-lease.ts'
import { createListModels } from '../models/gateway/list-models.ts'
import { createMissingModel } from '../models/catalog/missing-model.ts'
import { createModelCatalog } from '../models/catalog/model-catalog.ts'
import type { ModelCatalog } from '../models/catalog/model-catalog.ts'
import { createReadOn } from '../models/gateway/read-on.ts'
import { createMakeProvider } from '../models/providers/make-provider.ts'
import { messagesDialect } from '../models/formats/messages-dialect.ts'
import { createCassetteRecorder } from '../models/recording/record-cassette.ts'
import type { CassetteRecorder } from '../models/recording/record-cassette.ts'
import type { FetchMedia } from '../models/gateway/remote-media.ts'
import { createSpendGate } from '../spending/reserve-settle.ts'
import { createScriptedProvider } from '../models/providers/scripted-provider.ts'
import { createSpendTable } from '../spending/spend-table.ts'
import { createStatedWindows } from '../models/catalog/stated-windows.ts'
import { createWatchedModels } from '../models/gateway/watched-models.ts'
import { createModelWatch } from '../models/gateway/watch-models.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { Ledger } from '../runs/ledger.ts'
import type { Database } from '../storage/database.ts'
import { randomChance, randomId, systemClock } from '../platform/system-clock.ts'
import { parseEnvText } from '../credentials/env-file.ts'
import type { Vault } from '../credentials/vault.ts'

/** Models by name, with the recorder's ear on each provider. */
export function composeModels(parts: {
  readonly context: CommandContext
  readonly settings: SettingsFile
  readonly vault: Vault
  readonly cassetteFolders: readonly string[]
  readonly envFile: string
}): {
  readonly catalog: ModelCatalog
  readonly recorder: CassetteRecorder
  readonly missingModel: () => Promise<string>
} {
  const recorder = createCassetteRecorder()
  const catalog = createModelCatalog({
    settings: parts.settings.current,
    vault: parts.vault,
    environmentDefaultModel: parts.context.environment.defaultModel,
    environmentDefaultModelFrom: parts.context.environment.defaultModelFrom,
    makeProvider: createMakeProvider({
      clock: systemClock,
      newId: randomId,
      listen: recorder.wrap,
      makeScripted: ({ cassette }) =>
        createScriptedProvider({
          folders: parts.cassetteFolders,
          cassette,
          clock: systemClock,
          newId: randomId,
        }),
    }),
  })
  const missingModel = createMissingModel({
    settings: parts.settings.current,
    vault: parts.vault,
    readFile: async () => parseEnvText((await readTextFile(parts.envFile)) ?? ''),
  })
  return { catalog, recorder, missingModel }
}

/** The model door's use cases, and the money behind them. */
export function composeModelDoor(parts: {
  readonly catalog: ModelCatalog
  readonly settings: SettingsFile
  readonly database: Database
  readonly events: EventBus
  readonly journal: Journal
  readonly guard: Guard
  readonly log: Log
  readonly ledger: Ledger
  readonly findAgent: (agentId: string) => AgentRecord | null
  readonly agentIds: () => readonly string[]
  readonly modelInUse: (agentId: string) => string | null
  readonly fetchMedia: FetchMedia
  readonly spend: LoopShare['spend']
}) {
  const { catalog, database, events, journal, guard, log, ledger, fetchMedia } = parts
  const settings = parts.settings.current
  const clock = systemClock
  const closing = new AbortController()
  const stopped = closing.signal
  const spend = createSpendTable(database)
  const book = createBudgetBook({ ...parts, settings })
  const gate = createSpendGate({
    database,
    spend,
    clock,
    newId: randomId,
    life: randomId('life'),
    journal,
    log,
    stopped,
    budgetOf: book.budgetOf,
    treeOf: ledger.treeOf,
    warnings: createBudgetWarnings(parts),
    addRunCost: (runId, cost) => ledger.addRunCost(runId, cost.costUsd, cost.tokens),
  })
  const holdLease = createHoldLease({ clock, log, stopped, renew: (run) => ledger.lease.renew(run) })
  const models = {
    catalog,
    settings,
    agentModel: parts.modelInUse,
  }
  const readOn = createReadOn({ clock })
  const watch = createModelWatch({ clock, log, events, journal })
  const windows = createStatedWindows({ database, clock, log })
  // Agents hear it at their start and the doors at theirs, so a change waits for the next start of the mesh.
  const keepAliveMs = keepAliveMsOf(settings())
  const calls = {
    ...models,
    guard,
    gate,
    events,
    holdLease,
    clock,
    log,
    watch,
    readOn,
    answerBounds: createAnswerBounds(),
    windows,
    chance: randomChance,
    fetchMedia,
    spend: parts.spend,
    keepAliveMs,
    stopped,
  }
  return {
    spend,
    gate,
    book,
    holdLease,
    watch,
    readOn,
    keepAliveMs,
    complete: createComplete(calls, chatDialect),
    messages: createComplete(calls, messagesDialect),
    embeddings: createComplete(calls, embeddingsDialect),
    countTokens: createCountTokens({ ...models, guard, fetchMedia }),
    models: createWatchedModels({ ...models, guard, clock, watch, windows, agentIds: parts.agentIds }),
    listModels: createListModels({ ...models, guard, clock }),
    /** Once no call is open, and before the database closes. */
    close: () => {
      closing.abort(new Error('the model door is closed'))
      gate.flush()
    },
  }
}

export type ModelDoor = ReturnType<typeof composeModelDoor>

export function keepAliveMsOf(settings: Pick<Settings, 'keep_alive_seconds'>): number {
  return settings.keep_alive_seconds * 1000
}

/** The owner's cassettes first, then those that ship. */
export function cassetteFolders(own: string, repositoryRoot: string): readonly string[] {
  return [own, join(repositoryRoot, 'cassettes')]
}
