import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import type { CallParameters } from '../formats/api-format.ts'
import type { CallPurpose, LlmProvider } from '../llm-provider.ts'
import type { FallbackDeps } from './allowed-models.ts'
import { isFromAgentProcess } from './open-call.ts'
import type { AgentCaller, OpenCallDeps } from './open-call.ts'

/** Returns what answers in place of the model in a replay of another run; null, synchronously, for all other runs. */
export type StandIn = (call: {
  readonly runId: string
  readonly purpose: CallPurpose
  /** The parameters to forward, including the messages. */
  readonly parameters: JsonObject
}) => Promise<{ readonly llm: LlmProvider } | { readonly model: string }> | null

/** Returns the models of a replay (its record, or the model that a person chose); null for any other run. */
export function standInChain(
  deps: FallbackDeps & Pick<OpenCallDeps, 'apiFormat'> & { readonly standIn?: StandIn },
  caller: AgentCaller,
  { read, purpose }: { readonly read: CallParameters; readonly purpose: CallPurpose },
): Promise<CatalogModel[]> | null {
  const runId = caller.run?.runId
  const standIn =
    runId !== undefined && isFromAgentProcess(deps, caller)
      ? (deps.standIn?.({ runId, purpose, parameters: read.forwarded }) ?? null)
      : null
  return standIn && standIn.then((one) => [modelOf(deps, one)])
}

function modelOf(
  { catalog }: FallbackDeps,
  standIn: { readonly llm: LlmProvider } | { readonly model: string },
): CatalogModel {
  if ('llm' in standIn) {
    const free = catalog.find({ provider: 'scripted', model: 'recorded' })
    return { ...free, id: 'recorded/answers', provider: 'recorded', model: 'answers', llm: standIn.llm }
  }
  const name = resolveModel(standIn.model, catalog.defaultProvider())
  if (name === null)
    throw new Problem('not-configured', { detail: `${standIn.model} is not the name of a model` })
  return catalog.find(name)
}
