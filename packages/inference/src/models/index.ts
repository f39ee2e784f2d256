import { readTextFile } from '@flotilla/foundation/config'
import type { Environment, Settings } from '@flotilla/foundation/config'
import type { RefuseAboveCeiling, RunTicket } from '@flotilla/identity/access'
import { parseEnvText } from '@flotilla/egress/credentials'
import type { Vault } from '@flotilla/egress/credentials'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Agents } from '@flotilla/fleet/agents'
import { rootOf } from '@flotilla/identity/events'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { randomChance } from '@flotilla/foundation/platform'
import type { InferenceKernel } from '../events/index.ts'
import type { Spending } from '../spending/index.ts'
import { createMissingModel } from './catalog/missing-model.ts'
import { createModelCatalog } from './catalog/model-catalog.ts'
import type { ModelCatalog } from './catalog/model-catalog.ts'
import { createOwnModel } from './catalog/own-model.ts'
import type { OwnModel } from './catalog/own-model.ts'
import { createRequireModel } from './catalog/require-model.ts'
import { createTryProvider } from './gateway/try-provider.ts'
import type { TryProvider } from './gateway/try-provider.ts'
import { createStatedWindows } from './catalog/stated-windows.ts'
import { chatFormat } from './formats/chat-format.ts'
import { embeddingsFormat } from './formats/embeddings-format.ts'
import { messagesFormat } from './formats/messages-format.ts'
import { contentsFormat } from './formats/contents/contents-format.ts'
import { responsesFormat } from './formats/responses/responses-format.ts'
import { createAnswerBounds } from './gateway/answer-bounds.ts'
import { createComplete } from './gateway/complete.ts'
import type { WorkOf } from './gateway/run-choice.ts'
import type { StandIn } from './gateway/stand-in.ts'
import { countOfContents, countOfMessages, createCountTokens } from './gateway/count-tokens.ts'
import { createPromptPace } from './gateway/prompt-pace.ts'
import { createListModels } from './gateway/list-models.ts'
import { modelMetrics } from './gateway/model-metrics.ts'
import { modelRoutes } from './gateway/model.routes.ts'
import { createReadOn } from './gateway/read-on.ts'
import type { FetchMedia } from './gateway/remote-media.ts'
import { createTranscribe } from './gateway/transcribe.ts'
import type { Transcribe } from './gateway/transcribe.ts'
import { createModelWatch } from './gateway/watch-models.ts'
import { createWatchedModels } from './gateway/watched-models.ts'
import { modelPeopleRoutes } from './people.routes.ts'
import type { LlmProvider } from './llm-provider.ts'
import { createMakeProvider } from './providers/make-provider.ts'
import { createScriptedProvider } from './providers/scripted-provider.ts'
import { createCassetteRecorder } from './recording/record-cassette.ts'
import type { CassetteRecorder } from './recording/record-cassette.ts'
import { createRecording } from './recording/recording.ts'

export { readSaidAnswer } from './recording/read-answer.ts'
export type { SaidAnswer } from './recording/read-answer.ts'
export { scriptedChunks, scriptedCompletion } from './providers/scripted-reply.ts'
export type { CallPurpose, LlmProvider, ProviderRequest, RunCall } from './llm-provider.ts'
export { workOf } from './gateway/run-choice.ts'
export { voiceLimits } from './gateway/transcribe.ts'
export type { Transcribe, Transcribed } from './gateway/transcribe.ts'
export type { StandIn } from './gateway/stand-in.ts'
export { priceOf } from './catalog/model-prices.ts'
export { namesMany, resolveModel, searchesByItself } from './catalog/resolve-model.ts'
export { presetModel } from './catalog/preset-model.ts'
export { ownServerEntry } from './gateway/try-provider.ts'
export type { ProviderCandidate, TryProvider } from './gateway/try-provider.ts'
export { isModelList, modelNamesIn } from './providers/list-provider-models.ts'
export { providerPresets } from './providers/provider-presets.ts'
export { credentialNamesOf, isOwnServer, ownServerKey } from './providers/provider-setup.ts'

/** Models and providers, which exist before the agents that use them. */
export interface KnownModels {
  readonly catalog: ModelCatalog
  /** Records the calls of every provider while a recording runs. */
  readonly recorder: CassetteRecorder
  /** The next step for an owner without a model, as a phrase in lower case. */
  readonly missingModel: () => Promise<string>
  readonly requireModel: ReturnType<typeof createRequireModel>
  /** Tests a provider that an owner sets up. */
  readonly tryProvider: TryProvider
}

export interface CatalogNeeds {
  readonly environment: Pick<Environment, 'defaultModel' | 'defaultModelFrom' | 'proxies'>
  readonly vault: Vault
  readonly envFile: string
  /** The folders with cassettes, searched in this order. */
  readonly cassetteFolders: readonly string[]
  readonly refuseAbove: RefuseAboveCeiling
  /** Wraps every provider so that runs are recorded. */
  readonly listen: (provider: LlmProvider) => LlmProvider
}

export function modelCatalog(
  { clock, newId, settings, log }: Pick<Kernel, 'clock' | 'newId' | 'settings' | 'log'>,
  needs: CatalogNeeds,
): KnownModels {
  const { environment, vault, cassetteFolders: folders } = needs
  const recorder = createCassetteRecorder()
  const makeProvider = createMakeProvider({
    clock,
    newId,
    log,
    proxies: environment.proxies,
    listen: (provider) => needs.listen(recorder.wrap(provider)),
    makeScripted: ({ cassette }) => createScriptedProvider({ folders, cassette, clock, newId }),
  })
  const catalog = createModelCatalog({
    settings,
    vault,
    environmentDefaultModel: environment.defaultModel,
    environmentDefaultModelFrom: environment.defaultModelFrom,
    makeProvider,
  })
  return {
    catalog,
    recorder,
    missingModel: createMissingModel({
      settings,
      vault,
      readFile: async () => parseEnvText((await readTextFile(needs.envFile)) ?? ''),
    }),
    requireModel: createRequireModel({ catalog, refuseAbove: needs.refuseAbove }),
    tryProvider: createTryProvider({ settings, vault, makeProvider, clock, proxies: environment.proxies }),
  }
}

export interface Models extends OwnModel {
  /** The silence after which an open stream gets a keep-alive comment, milliseconds. */
  readonly keepAliveMs: number
  /** The number of an agent's calls that are read to the end after the agent has disconnected. */
  readonly readingOn: (agentId: string) => number
  readonly transcribe: Transcribe
}

export interface ModelsNeeds extends Pick<KnownModels, 'catalog' | 'recorder' | 'missingModel'> {
  readonly agents: Pick<Agents, 'registry' | 'lifecycle'>
  readonly spending: Pick<Spending, 'reserve' | 'settle' | 'refund'>
  /** Renews the run's lease while one of its calls is open; returns the function that stops it. */
  readonly holdLease: (run: RunTicket | null) => () => void
  readonly fetchMedia: FetchMedia
  readonly onShareOf: LoopShare['spend']
  readonly standIn: StandIn
  readonly workOf: WorkOf
}

/** The model gateway for agents and programs in containers, and the views of models for people. */
export function modelsModule(kernel: InferenceKernel, needs: ModelsNeeds): MeshModule<Models> {
  const { guard, clock } = kernel
  const { agents, catalog } = needs
  const closing = new AbortController()
  const readOn = createReadOn({ clock })
  const watch = createModelWatch({ ...kernel, rootOf: (agentId) => rootOf(kernel.identityEvents, agentId) })
  const windows = createStatedWindows(kernel)
  // Agents and servers read this value once at their start, so a change takes effect at the next start of the mesh.
  const keepAliveMs = keepAliveMsOf(kernel.settings())
  const models = { catalog, settings: kernel.settings, agentModel: agents.lifecycle.modelInUse }
  const calls = {
    ...kernel,
    ...needs,
    ...models,
    watch,
    readOn,
    windows,
    keepAliveMs,
    answerBounds: createAnswerBounds(),
    pace: createPromptPace(),
    chance: randomChance,
    stopped: closing.signal,
  }
  const counts = { ...models, guard, fetchMedia: needs.fetchMedia }
  const use = {
    complete: createComplete(calls, chatFormat),
    messages: createComplete(calls, messagesFormat),
    responses: createComplete(calls, responsesFormat),
    embeddings: createComplete(calls, embeddingsFormat),
    contents: createComplete(calls, contentsFormat),
    countTokens: createCountTokens(counts, countOfMessages),
    countContents: createCountTokens(counts, countOfContents),
    listModels: createListModels({ ...models, guard, clock }),
  }
  const agentIds = () => agents.registry.list().map(({ id }) => id)
  const watched = createWatchedModels({ ...models, guard, clock, watch, windows, agentIds })
  const recording = createRecording({ guard, recorder: needs.recorder })
  return {
    api: {
      ...createOwnModel(models),
      keepAliveMs,
      readingOn: readOn.openOf,
      transcribe: createTranscribe(calls),
    },
    routes: {
      people: (surface) => modelPeopleRoutes(surface, { watched, recording }),
      models: (surface) => modelRoutes(surface, use),
    },
    metrics: () => modelMetrics(watch.list(), clock.now()),
    notices: async () => {
      const model = catalog.preset()
      return [
        model === null
          ? `No model is set up yet: ${await needs.missingModel()}`
          : `Agents without a model of their own use ${model.name} (${model.from}).`,
      ]
    },
    close: async () => {
      // Answers without a client are read to the end before the provider connections are closed.
      try {
        await readOn.close()
        await catalog.close()
      } finally {
        closing.abort(new Error('the mesh stops'))
      }
    },
  }
}

export function keepAliveMsOf(settings: Pick<Settings, 'keep_alive_seconds'>): number {
  return settings.keep_alive_seconds * 1000
}
