import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Problem } from '@flotilla/protocol/problem'
import { problemJson } from '@flotilla/protocol/problem-json'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProxyRules } from '../../packages/foundation/src/config/proxy-environment.ts'
import { settingsSchema } from '../../packages/foundation/src/config/settings-file.ts'
import type { Settings } from '../../packages/foundation/src/config/settings-file.ts'
import { createAnswerBounds } from '../../packages/inference/src/models/gateway/answer-bounds.ts'
import { chatFormat } from '../../packages/inference/src/models/formats/chat-format.ts'
import type { ApiFormat } from '../../packages/inference/src/models/formats/api-format.ts'
import { createComplete } from '../../packages/inference/src/models/gateway/complete.ts'
import type { Complete, CompleteDeps } from '../../packages/inference/src/models/gateway/complete.ts'
import { createModelCatalog } from '../../packages/inference/src/models/catalog/model-catalog.ts'
import type { ModelCatalog } from '../../packages/inference/src/models/catalog/model-catalog.ts'
import { createPromptPace } from '../../packages/inference/src/models/gateway/prompt-pace.ts'
import { createReadOn } from '../../packages/inference/src/models/gateway/read-on.ts'
import type { ReadOnLimits } from '../../packages/inference/src/models/gateway/read-on.ts'
import { createMakeProvider } from '../../packages/inference/src/models/providers/make-provider.ts'
import { createReservations } from '../../packages/inference/src/spending/reservations.ts'
import type { Reservations } from '../../packages/inference/src/spending/reservations.ts'
import { createScriptedProvider } from '../../packages/inference/src/models/providers/scripted-provider.ts'
import { createSpendTable } from '../../packages/inference/src/spending/spend-table.ts'
import type { SpendTable, SpendTotal } from '../../packages/inference/src/spending/spend-table.ts'
import { createStatedWindows } from '../../packages/inference/src/models/catalog/stated-windows.ts'
import { createModelWatch } from '../../packages/inference/src/models/gateway/watch-models.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import type { Caller } from '../../packages/identity/src/access/caller.ts'
import { openDatabase } from '../../packages/foundation/src/storage/database.ts'
import type { Database } from '../../packages/foundation/src/storage/database.ts'
import { allMigrations } from '../../packages/foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../packages/foundation/src/storage/migrate.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { createSecret } from '../../packages/egress/src/credentials/secret.ts'
import type { Vault } from '../../packages/egress/src/credentials/vault.ts'
import { collectEvents, countingIds } from './collected-ports.ts'
import { wholeBody } from './whole-body.ts'

export interface LlmParts {
  readonly complete: Complete
  readonly catalog: ModelCatalog
  readonly database: Database
  readonly spend: SpendTable
  readonly spending: Reservations
  /** Spending totals, including those not written yet. */
  spent(scope: string, period: string): SpendTotal
  readonly events: ReturnType<typeof collectEvents>
  readonly runCosts: { runId: string; costUsd: number; tokens: number }[]
  readonly deps: CompleteDeps
  /** Simulates that the owner stored a new OpenAI key in the vault. */
  newKey(): void
  close(): Promise<void>
}

export interface LlmPartsOptions {
  readonly baseUrl?: string
  readonly dailyUsd?: number
  readonly monthlyUsd?: number
  readonly settings?: object
  readonly agentModel?: string
  readonly cassettes?: readonly string[]
  readonly overrides?: Partial<CompleteDeps>
  readonly treeOf?: (runId: string) => readonly string[]
  readonly database?: Database
  readonly life?: string
  readonly readOnLimits?: Partial<ReadOnLimits>
  readonly key?: string
  /** Which hosts use which proxy; no proxy when absent. */
  readonly proxies?: ProxyRules
  readonly apiFormat?: ApiFormat
}

export const workerCaller: Caller = { kind: 'agent', agentId: 'scout', token: 'program', run: null }

/** The whole model path without its HTTP server: real storage, real provider, a budget, no permission file. */
export function aModelPath(options: LlmPartsOptions = {}): LlmParts {
  const database = options.database ?? migrated()
  const settings: Settings = settingsSchema.parse({ ...pricedProvider(options.baseUrl), ...options.settings })
  const clock = options.overrides?.clock ?? systemClock
  const events = collectEvents()
  const runCosts: LlmParts['runCosts'] = []
  const spend = createSpendTable(database)
  const spending = createReservations({
    database,
    spend,
    clock,
    newId: countingIds(),
    life: options.life ?? 'life_1',
    budgetOf: () => ({ daily_usd: options.dailyUsd ?? 10, monthly_usd: options.monthlyUsd ?? 200 }),
    treeOf: options.treeOf ?? ((runId) => [runId]),
    addRunCost: (runId, cost) => runCosts.push({ runId, ...cost }),
  })
  const key = options.key ?? (options.baseUrl === undefined ? undefined : 'sk-test-key-0123456789')
  const keys = { openai_base_url: options.baseUrl, openai_api_key: key }
  let vault = aVault(keys)
  const catalog = createModelCatalog({
    settings: () => settings,
    vault: { ...vault, system: (name) => vault.system(name) },
    environmentDefaultModel: null,
    environmentDefaultModelFrom: 'environment',
    makeProvider: createMakeProvider({
      ...(options.proxies ? { proxies: options.proxies } : {}),
      clock,
      newId: countingIds(),
      makeScripted: (config) =>
        createScriptedProvider({ ...config, folders: options.cassettes ?? [], clock, newId: countingIds() }),
    }),
  })
  const deps: CompleteDeps = {
    guard: () => {},
    spending,
    events,
    holdLease: () => () => {},
    clock,
    log: silentLog,
    watch: createModelWatch({
      clock,
      log: silentLog,
      events,
      journal: { append: () => {} },
      rootOf: (agentId) => agentId,
    }),
    answerBounds: createAnswerBounds(),
    pace: createPromptPace(),
    windows: createStatedWindows({ database, clock, log: silentLog }),
    readOn: createReadOn({ clock, limits: options.readOnLimits ?? {} }),
    chance: () => 0.5,
    onShareOf: (_agentId, work) => work(),
    fetchMedia: () => Promise.reject(new Problem('denied')),
    newId: countingIds(),
    catalog,
    settings: () => settings,
    agentModel: () => options.agentModel ?? 'openai/gpt-4o-mini',
    ...options.overrides,
  }
  return {
    complete: createComplete(deps, options.apiFormat ?? chatFormat),
    catalog,
    database,
    spend,
    spending,
    spent: (scope, period) => {
      spending.flush()
      return spend.total(scope, period)
    },
    events,
    runCosts,
    deps,
    newKey: () => {
      vault = aVault(keys)
    },
    close: async () => {
      await catalog.close()
      spending.flush()
      database.close()
    },
  }
}

/** Sets a price: without one, models of a server on this machine are free. */
function pricedProvider(baseUrl: string | undefined): object {
  if (baseUrl === undefined) return {}
  return {
    providers: {
      openai: { kind: 'openai-compatible', base_url: baseUrl, api_key: 'openai_api_key', local: false },
    },
  }
}

export function migrated(path = ':memory:'): Database {
  const database = openDatabase(path)
  migrate(database, allMigrations)
  return database
}

export function aVault(system: Readonly<Record<string, string | undefined>>): Vault {
  const secrets = new Map(
    Object.entries(system).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, createSecret(name, value)] as const],
    ),
  )
  return {
    system: (name) => secrets.get(name),
    agentTier: () => undefined,
    names: () => ({ system: Object.keys(system), agent: [] }),
    storeSystem: async () => {},
    removeSystem: async () => {},
    changeSystem: async () => {},
    systemSourceOf: () => null,
    sourceOf: () => null,
    storeAgent: async (name, value) => createSecret(name, value),
    removeAgent: async () => false,
  }
}

/** Mounts a use case on a loopback server as a route does: it copies the reply and reports a disconnected client. */
export async function startLlmServer(
  complete: Complete,
  caller: Caller = workerCaller,
): Promise<{ readonly baseUrl: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void (async () => {
      const gone = new AbortController()
      response.on('close', () => {
        if (!response.writableFinished) gone.abort(new Error('the client has gone'))
      })
      const body = await wholeBody(request)
      if (body === null) return
      try {
        const reply = await complete(caller, { body, signal: gone.signal })
        response.writeHead(reply.status, reply.headers)
        if (reply.body instanceof Uint8Array) response.end(reply.body)
        else await pipeline(Readable.from(reply.body, { objectMode: false }), response)
      } catch (error) {
        if (!(error instanceof Problem) || response.headersSent) {
          response.destroy()
          return
        }
        response.writeHead(problemCatalog[error.code].status, {
          'content-type': 'application/problem+json',
          'x-should-retry': String(problemCatalog[error.code].retryable),
          ...(error.retryAfterSeconds === undefined
            ? {}
            : { 'retry-after': String(error.retryAfterSeconds) }),
        })
        response.end(JSON.stringify(problemJson(error, 'test')))
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
