import type { Clock } from '@flotilla/protocol/clock'
import type { ModelView } from '@flotilla/protocol/models-api'
import { Problem } from '@flotilla/protocol/problem'
import { modelEntries, modelSettingsOf } from '@flotilla/foundation/config'
import type { Caller, Guard } from '@flotilla/identity/access'
import { allowListOf } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { coolDownLeftMs } from './model-health.ts'
import { nanoPerUsd } from '../../spending/index.ts'
import { windowOfModel } from '../catalog/model-window.ts'
import { priceOf } from '../catalog/model-prices.ts'
import { fullName, modelIsListed, resolveModel } from '../catalog/resolve-model.ts'
import type { ModelName } from '../catalog/resolve-model.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import type { ModelWatch, WatchedModel } from './watch-models.ts'

export interface WatchedModelsDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly clock: Clock
  readonly watch: ModelWatch
  readonly windows: Pick<StatedWindows, 'of'>
  readonly agentIds: () => readonly string[]
}

const tokensPerMtok = 1_000_000

export type WatchedModels = (caller: Caller) => readonly ModelView[]

/**
 * The models that the fleet names or has used, for people. Unused cassettes are left out. Throws the Problem
 * `denied`.
 */
export function createWatchedModels(deps: WatchedModelsDeps): WatchedModels {
  return (caller) => {
    deps.guard(caller, { do: 'view-fleet' })
    const agents = deps.agentIds().map((id) => ({ id, list: allowListOf(deps, id) }))
    return namesOf(deps, agents).map((name) => viewOf(deps, name, agents))
  }
}

interface AgentList {
  readonly id: string
  readonly list: readonly string[]
}

function namesOf(deps: WatchedModelsDeps, agents: readonly AgentList[]): readonly ModelName[] {
  const provider = deps.catalog.defaultProvider()
  const settings = deps.settings()
  const models = modelEntries(settings)
  const written = [
    deps.catalog.defaultModel() ?? '',
    ...agents.flatMap(({ list }) => list),
    settings.models.heartbeat ?? '',
    settings.models.compaction ?? '',
    ...models.keys(),
    ...[...models.values()].flatMap(({ fallback }) => fallback ?? []),
    ...deps.watch.list().map(({ id }) => id),
  ]
  const names = new Map<string, ModelName>()
  for (const text of written) {
    const name = resolveModel(text, provider)
    if (name !== null && name.model !== '*') names.set(fullName(name), name)
  }
  return [...names].toSorted(([a], [b]) => a.localeCompare(b)).map(([, name]) => name)
}

function viewOf(deps: WatchedModelsDeps, name: ModelName, agents: readonly AgentList[]): ModelView {
  const id = fullName(name)
  const provider = deps.catalog.defaultProvider()
  return {
    id,
    provider: name.provider,
    ...standingOf(deps, name),
    context_window: windowOfModel(deps.settings(), name),
    fallback: [...(modelSettingsOf(deps.settings(), id)?.fallback ?? [])],
    chosen_for: chosenFor(deps, id),
    ...healthOf(deps.watch.find(id), deps.clock.now()),
    stated_windows: deps.windows
      .of(id)
      .filter(({ agent_id }) => agents.some((agent) => agent.id === agent_id)),
    agents: agents.filter(({ list }) => modelIsListed(list, name, provider)).map((agent) => agent.id),
  }
}

function chosenFor(deps: WatchedModelsDeps, id: string): ModelView['chosen_for'] {
  const { models } = deps.settings()
  return (['heartbeat', 'compaction'] as const).filter((purpose) => {
    const name = resolveModel(models[purpose] ?? '', deps.catalog.defaultProvider())
    return name !== null && fullName(name) === id
  })
}

function standingOf(
  deps: WatchedModelsDeps,
  name: ModelName,
): Pick<ModelView, 'problem' | 'price' | 'free_because'> {
  try {
    const model = deps.catalog.find(name)
    const price = priceOf(model, deps.clock.now())
    const perMtok = (nano: number) => (nano * tokensPerMtok) / nanoPerUsd
    return {
      problem: null,
      free_because: model.freeBecause,
      price: {
        input_per_mtok: perMtok(price.inputNanoPerToken),
        output_per_mtok: perMtok(price.outputNanoPerToken),
      },
    }
  } catch (error) {
    if (error instanceof Problem) return { problem: error.detail, price: null, free_because: null }
    throw error
  }
}

function healthOf(
  watched: WatchedModel | null,
  now: number,
): Pick<ModelView, 'health' | 'cool_down_seconds' | 'failures' | 'answered' | 'failed' | 'last_error'> {
  if (watched === null) {
    return { health: 'unknown', cool_down_seconds: 0, failures: 0, answered: 0, failed: 0, last_error: null }
  }
  const { health, answered, failed, lastError } = watched
  const leftMs = coolDownLeftMs(health, now)
  const sickness = leftMs > 0 ? 'cooling' : 'on-trial'
  return {
    health: health.kind === 'ok' ? 'ok' : sickness,
    cool_down_seconds: Math.ceil(leftMs / 1000),
    failures: health.kind === 'ok' ? 0 : health.failures,
    answered,
    failed,
    last_error: lastError,
  }
}
