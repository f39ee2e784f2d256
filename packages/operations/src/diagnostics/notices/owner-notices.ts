import { channelFields } from '@flotilla/protocol/channel-fields'
import type { BudgetView } from '@flotilla/protocol/money-api'
import { channelNames } from '@flotilla/protocol/people'
import type { PermissionStore } from '@flotilla/identity/access'
import type { AgentRegistry } from '@flotilla/fleet/agents'
import type { ProxyRules } from '@flotilla/foundation/config'
import type { Vault } from '@flotilla/egress/credentials'
import { namesMany, priceOf, resolveModel } from '@flotilla/inference/models'
import type { KnownModels } from '@flotilla/inference/models'
import { nanoPerUsd } from '@flotilla/inference/spending'
import { budgetNotices, smallestCall } from './budget-notices.ts'
import type { SmallestCost } from './budget-notices.ts'
import { jobNotices } from './job-notices.ts'
import type { NoticedJob } from './job-notices.ts'
import { permissionNotices } from './permission-notices.ts'
import type { KnownNames } from './permission-notices.ts'
import { settingNotices } from './setting-notices.ts'
import type { SetThing } from '@flotilla/inference/events'
import type { InferenceKernel } from '@flotilla/inference/events'

/** How often the notices are computed again, ms: files are read again every second, and agents come and go. */
const pollIntervalMs = 2000
/** Notices that are shown at once; the first ones are enough to see what is wrong. */
const shownMax = 100
/** Notices that were logged are remembered up to this number, and forgotten together. */
const loggedMax = 1000

export interface NoticeDeps {
  readonly catalog: Pick<
    KnownModels['catalog'],
    'find' | 'defaultModel' | 'defaultProvider' | 'requireUsable'
  >
  readonly vault: Pick<Vault, 'names'>
  readonly permissions: Pick<PermissionStore, 'snapshot'>
  readonly registry: Pick<AgentRegistry, 'find' | 'list' | 'isArchived'>
  readonly proxies: Pick<ProxyRules, 'proxies' | 'faults' | 'directFaults'>
  /** Budgets of the fleet, the projects and the agents. */
  readonly budgets: () => readonly Pick<BudgetView, 'scope' | 'id' | 'daily' | 'monthly'>[]
  readonly jobs: () => readonly NoticedJob[]
}

/** Notices about what owners configured and what currently has no effect. */
export interface OwnerNotices {
  /** One sentence each, with its repair. */
  list(): readonly string[]
  /** Logs each new notice until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Answers the question `setNotices` after a setting was changed, and checks files that owners edit by hand. */
export function createOwnerNotices(
  kernel: Pick<InferenceKernel, 'clock' | 'log' | 'settings' | 'fleetEvents' | 'inferenceEvents'>,
  { catalog, vault, permissions, registry, proxies, ...deps }: NoticeDeps,
): OwnerNotices {
  const agentIds = () => registry.list().map(({ id }) => id)

  function modelFault(model: string): string | null {
    try {
      if (namesMany(model)) catalog.requireUsable(`${model.split('/')[0] ?? ''}/any`)
      else catalog.requireUsable(model)
      return null
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  function costOf(model: string | null): SmallestCost {
    const name = model === null ? null : resolveModel(model, catalog.defaultProvider())
    if (model === null || name === null) return null
    try {
      const price = priceOf(catalog.find(name), kernel.clock.now())
      const nano =
        price.callNano +
        smallestCall.prompt * price.inputNanoPerToken +
        smallestCall.answer * price.outputNanoPerToken
      return { model, usd: nano / nanoPerUsd }
    } catch {
      // A model that cannot be called or has no price is reported elsewhere.
      return null
    }
  }

  const modelOf = (agentId: string) => registry.find(agentId)?.model ?? catalog.defaultModel()

  const knownNames = () => ({ agents: agentIds(), credentials: vault.names().agent })

  function ofRecord(agentId: string, known: KnownNames = knownNames()): readonly string[] {
    const record = permissions.snapshot().recordOf(agentId)
    return record === undefined ? [] : permissionNotices(agentId, record, known)
  }

  function ofBudget({ name, agentId, dailyUsd, monthlyUsd }: Extract<SetThing, { kind: 'budget' }>) {
    const limits = [
      { name: `the daily budget of ${name}`, usd: dailyUsd },
      { name: `the monthly budget of ${name}`, usd: monthlyUsd },
    ]
    return budgetNotices(limits, costOf(agentId === null ? catalog.defaultModel() : modelOf(agentId)))
  }

  function ofSharedBudgets(): readonly string[] {
    return deps.budgets().flatMap(({ scope, id, daily, monthly }) => {
      // The budgets of agents are in the agents' records, which another function checks.
      if (scope === 'agent') return []
      const name = scope === 'fleet' ? 'the fleet' : `project ${id}`
      const limits = { dailyUsd: daily.limit_usd, monthlyUsd: monthly.limit_usd }
      return ofBudget({ kind: 'budget', name, agentId: null, ...limits })
    })
  }

  function list(): readonly string[] {
    const settings = kernel.settings()
    const { system } = vault.names()
    const known = knownNames()
    const hasToken = (names: readonly { readonly name: string; readonly give: string }[]) =>
      names.every(({ name, give }) => give === 'made' || system.includes(name))
    return [
      ...settingNotices(settings, {
        agents: agentIds(),
        systemNames: system,
        doubtsOf: (url) => kernel.fleetEvents.outboundDoubts.ask({ url, agentId: null }),
        modelFault,
        hasProxy: proxies.proxies.length > 0,
        channels: channelNames.filter((name) => hasToken(channelFields[name])),
      }),
      ...budgetNotices(
        [{ name: 'tasks.max_usd', usd: settings.tasks.max_usd }],
        costOf(catalog.defaultModel()),
      ),
      ...proxies.faults,
      ...proxies.directFaults,
      ...ofSharedBudgets(),
      ...jobNotices(deps.jobs(), { agents: agentIds(), archived: agentIds().filter(registry.isArchived) }),
      ...registry
        .list()
        .flatMap(({ id, budget }) => [
          ...ofBudget({ kind: 'budget', name: id, agentId: id, ...budget }),
          ...ofRecord(id, known),
        ]),
    ].slice(0, shownMax)
  }

  kernel.inferenceEvents.setNotices.subscribe((thing) =>
    thing.kind === 'permissions' ? ofRecord(thing.agentId) : ofBudget(thing),
  )

  return {
    list,
    run: async (signal) => {
      const logged = new Set<string>()
      while (!signal.aborted) {
        for (const notice of list()) {
          if (logged.has(notice)) continue
          if (logged.size >= loggedMax) logged.clear()
          logged.add(notice)
          kernel.log.warn({ notice }, 'a setting has no effect; flotilla status lists all such settings')
        }
        await kernel.clock.sleep(pollIntervalMs, signal).catch(() => {})
      }
    },
  }
}
