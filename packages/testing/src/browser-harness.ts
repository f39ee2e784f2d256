import { missingAgent } from './missing-agent.ts'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { BrowserActReply } from '@flotilla/protocol/browser-api'
import { authorize } from '../../identity/src/access/authorize.ts'
import type { Action, Decision, Guard } from '../../identity/src/access/action.ts'
import type { Caller } from '../../identity/src/access/caller.ts'
import { browserModule } from '../../browsing/src/browser-module.ts'
import { settingsSchema } from '../../foundation/src/config/settings-file.ts'
import type { CredentialCall } from '../../egress/src/credentials/index.ts'
import type { WorkKernel } from '../../work/src/events/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { AgentSurface, PeopleSurface } from '../../identity/src/http/index.ts'
import { createReservations } from '../../inference/src/spending/reservations.ts'
import { createSpendTable } from '../../inference/src/spending/spend-table.ts'
import { agentScope, utcDay } from '../../inference/src/spending/sum-scopes.ts'
import { createFakeBrowserContainers } from './fake-browser.ts'
import { aLedgerHarness } from './ledger-harness.ts'
import { createFakeCaptchaApi } from './fake-captcha-api.ts'
import { ownLoop } from './own-loop.ts'

type Handler = (request: object) => unknown

/** The browser module with a real ledger and fake browsers; tests call it like its APIs. */
export async function aBrowserHarness({
  maxLive = 2,
  env = {},
  captcha = {},
}: {
  readonly maxLive?: number
  /** The environment with the keys of CAPTCHA solvers. */
  readonly env?: Readonly<Record<string, string>>
  readonly captcha?: JsonObject
} = {}) {
  const records = new Map<string, PermissionRecord>(
    ['ada', 'bob', 'cleo'].map((id) => [id, permissionRecordSchema.parse({ can_use_browser: true })]),
  )
  const decide = (caller: Caller, action: Action): Decision =>
    authorize({ broken: null, recordOf: (id) => records.get(id) }, caller, action)
  const guard: Guard = (caller, action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const ledger = aLedgerHarness({ guard, decide })
  const containers = createFakeBrowserContainers()
  const settings = settingsSchema.parse({ browser: { max_live: maxLive, captcha } })
  const files = new Map<string, Buffer>()
  const archived = new Set<string>()
  const secrets = new Map<string, { readonly value: string; readonly origins: readonly string[] }>()
  const told: string[] = []
  const backListeners = new Set<() => void>()
  let browserOf: (token: string) => string | null = () => null
  ledger.fleetEvents.ownerNoticed.subscribe(({ message }) => void told.push(message))
  const solver = createFakeCaptchaApi()
  const budget = { dailyUsd: 1 }
  const spend = createSpendTable(ledger.database)
  const stopped = new AbortController()
  const spending = createReservations({
    ...ledger,
    spend,
    life: 'life',
    stopped: stopped.signal,
    budgetOf: () => ({ daily_usd: budget.dailyUsd, monthly_usd: 1000, project: null }),
    treeOf: (runId) => [runId],
    addRunCost: () => {},
  })
  const kernel: WorkKernel = {
    ...ledger,
    decide,
    guard,
    randomToken: () => crypto.randomUUID(),
    log: silentLog,
    settings: () => settings,
    ports: { people: 8420, agentApi: 0, proxy: 0, open: [] },
  }
  const module = await browserModule(kernel, {
    runtime: {
      browsers: containers,
      onEngineBack: (listener) => {
        backListeners.add(listener)
        return () => backListeners.delete(listener)
      },
    },
    agents: {
      registry: {
        find: (id) => (records.has(id) ? ({} as never) : null),
        require: (id) => (records.has(id) ? ({} as never) : missingAgent(id)),
        list: () => [],
        isArchived: (id) => archived.has(id),
      },
      meshIdentity: {
        publicKeyBase64url: 'key',
        linkKeyOf: () => Buffer.alloc(32),
        signFor: (subject) => `proof:${subject}`,
      },
      connection: {
        reach: async () =>
          ({
            readFile: async (path: string) => ({
              content: files.get(path) ?? Buffer.alloc(0),
              giveBack: () => {},
            }),
            writeFile: async (path: string, content: Uint8Array) =>
              void files.set(path, Buffer.from(content)),
          }) as never,
      },
    },
    runs: { delivery: ledger.ledger.delivery, holdLease: () => () => {} },
    egress: {
      fetchForMesh: solver.fetch,
      browsers: {
        proxy: { listen: async () => {}, port: () => 8421, close: async () => {} },
        identifyBy: (given) => {
          browserOf = given
        },
      },
    },
    openCredentials: (): CredentialCall => ({
      fillIn: () => {
        throw new Error('browsers fill in fields alone')
      },
      fillField: (text) => secrets.get(text) ?? null,
      fillHeaders: () => {
        throw new Error('browsers fill in fields alone')
      },
      scrubOf: () => null,
      scrub: {
        text: (text) =>
          [...secrets.values()].reduce((rest, { value }) => rest.replaceAll(value, '[secret]'), text),
        inSteps: () => {
          throw new Error('not asked for here')
        },
        cutText: (text) => text,
        record: (record) => ({ ...record }),
        isIn: () => false,
        find: () => [],
        reachChars: 0,
      },
    }),
    spending,
    env,
    shares: { calls: ownLoop() },
    briefsFolder: await mkdtemp(join(tmpdir(), 'flotilla-browsers-')),
    repositoryRoot: join(import.meta.dirname, '..', '..', '..'),
  })
  const handlers = new Map<string, Handler>()
  const surface = {
    bind: (endpoint: { method: string; path: string }, _schemas: object, handler: Handler) =>
      void handlers.set(`${endpoint.method} ${endpoint.path}`, handler),
  }
  module.routes?.agent?.(surface as unknown as AgentSurface)
  module.routes?.people?.(surface as unknown as PeopleSurface)
  const call = async (route: string, request: object): Promise<unknown> => {
    const handler = handlers.get(route)
    if (!handler) throw new Error(`no route ${route}`)
    return handler({ gone: () => new AbortController().signal, ...request })
  }
  return {
    ...ledger,
    module,
    containers,
    records,
    settings,
    files,
    archived,
    secrets,
    told,
    solver,
    budget,
    /** What the agent has spent today, and what is reserved for it, in nano-dollars. */
    money: (agentId: string) => {
      spending.settleWaiting()
      const { spentNano, unconfirmedNano } = spend.total(agentScope(agentId), utcDay(ledger.clock.now()))
      return { spentNano, unconfirmedNano }
    },
    call,
    browserOf: (token: string) => browserOf(token),
    /** Simulates that the engine was unavailable and answers again. */
    engineBack: () => backListeners.forEach((listener) => listener()),
    /** Calls it like the agent's tool, within its live run. */
    act: (agentId: string, action: string, params: JsonObject = {}) => {
      const caller = ledger.callerOf(agentId)
      const line = { dispatching: () => {}, signal: new AbortController().signal }
      return call('POST /mesh/browser/{action}', {
        caller,
        params: { action },
        body: params,
        effect: () => ({ outside: (work: (given: typeof line) => unknown) => work(line) }),
      }) as Promise<BrowserActReply>
    },
    /** Calls it like a person's page. */
    person: (what: 'take-over' | 'give-back' | 'close', agentId: string, caller: Caller) =>
      call(`POST /api/agents/{id}/browser/${what}`, { caller, params: { id: agentId } }),
    browsers: (caller: Caller) => call('GET /api/browsers', { caller }),
    end: async () => {
      await module.stop?.()
      stopped.abort()
      spending.flush()
      await ledger.ledger.close()
      await containers.removeAll()
    },
  }
}

export type BrowserHarness = Awaited<ReturnType<typeof aBrowserHarness>>

/** Starts a run of ada on a person's request, with a page of a shop open; returns the run. */
export async function openShop(harness: BrowserHarness): Promise<ReturnType<BrowserHarness['chat']>> {
  harness.ledger.start()
  await harness.clock.settle()
  const run = harness.chat('ada', 'buy it')
  await harness.clock.settle()
  await harness.act('ada', 'navigate', { url: 'https://shop.example/cart?session=7' })
  return run
}
