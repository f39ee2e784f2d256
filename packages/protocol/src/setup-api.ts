import * as z from 'zod/mini'
import { answerKinds, answerLimits, thinkingEfforts } from './answer-settings.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'

/** The set-up of the fleet's models: the first run, and Settings afterwards. For owners. */
export const setupEndpoints = {
  setup: {
    method: 'GET',
    path: '/api/setup',
    summary: 'Return the configured model providers and those that can be added.',
  },
  setupLocal: {
    method: 'POST',
    path: '/api/setup/local',
    summary: 'Search the usual ports of this machine for model servers.',
  },
  setupCheck: {
    method: 'POST',
    path: '/api/setup/check',
    summary: 'Check a provider and key with one small model call. Nothing is stored.',
  },
  setupProvider: {
    method: 'POST',
    path: '/api/setup/provider',
    summary: 'Check a provider and store its key, or add a server of one’s own by name and address.',
  },
  setupProviderRemove: {
    method: 'DELETE',
    path: '/api/setup/provider/{name}',
    summary: 'Delete key and address of a provider.',
  },
  setupModel: {
    method: 'PUT',
    path: '/api/setup/model',
    summary: 'Set the default model, for agents without a model of their own.',
  },
  setupDemo: {
    method: 'POST',
    path: '/api/setup/demo',
    summary: 'Let the fleet play a recorded conversation in place of a model.',
  },
  setupPrice: {
    method: 'PUT',
    path: '/api/setup/price',
    summary: 'Set the price of a model that the public price list has wrong or not at all.',
  },
  setupAnswers: {
    method: 'GET',
    path: '/api/setup/answers',
    summary: 'Return how much models think and how long their answers may be, by agent and kind of run.',
  },
  setupAnswersSet: {
    method: 'PUT',
    path: '/api/setup/answers',
    summary: 'Set how much models think and how long their answers may be, in one kind of run.',
  },
} as const satisfies Record<string, Endpoint>

export type SetupEndpointName = keyof typeof setupEndpoints

export const setupLimits = {
  /** The maximum number of listed models of one provider; the owner types the name of any other model. */
  modelsMax: 500,
  /** The maximum length of the name of a model, in characters. */
  modelNameMaxChars: 200,
  /** The maximum length of a provider's key, in characters. */
  keyMaxChars: 10_000,
  /** The maximum length of a provider's address, in characters. */
  urlMaxChars: 500,
  /** The highest price of a model that can be set, in US dollars per million tokens. */
  usdPerMtokMax: 100_000,
} as const

const name = z
  .string()
  .check(z.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a provider name is 1 to 64 of a-z 0-9 _ -'))
const modelName = z
  .string()
  .check(
    z.minLength(1),
    z.maxLength(setupLimits.modelNameMaxChars),
    z.regex(/^[^\s\p{Cc}]+$/u, 'the name of a model has no spaces'),
  )
/** A model with its provider; `heartbeat` and `compaction` are other members of the setting of models. */
const providerModel = modelName.check(
  z.regex(/^[^/]+\/./, 'write provider and model, such as openai/gpt-5-mini'),
)
/** Null if not set. */
const usualModel = z.nullable(z.string())

export const providerOfferSchema = z.strictObject({
  name: z.string(),
  /** Whether it is a server that an owner added with a name and an address, and no known provider. */
  own_server: z.boolean(),
  /** Null if an address must be given. */
  base_url: z.nullable(z.string()),
  /** The current address, if it is not the default; the set-up stores `file`, and no page can change the others. */
  address: z.nullable(z.strictObject({ url: z.string(), from: z.enum(['file', 'environment', 'settings']) })),
  needs_key: z.boolean(),
  /** `none` if no key is set; `environment` is the mesh's own, which no page can change. */
  key: z.enum(['none', 'file', 'environment']),
  /** Whether settings suffice to call the provider. A local server may still require a key, or may be down. */
  ready: z.boolean(),
  /** Distinguishes keys without revealing them; null without a key. */
  fingerprint: z.nullable(z.string()),
  /** The model that agents use if the owner names no other, as `provider/model`. */
  usual_model: usualModel,
})
export type ProviderOffer = z.infer<typeof providerOfferSchema>

export const localServerSchema = z.strictObject({
  /** The provider's name, as in `ollama/qwen3`. */
  name: z.string(),
  /** The program's name for people. */
  title: z.string(),
  base_url: z.string(),
  /** `absent`: no server answers; `other`: it is not a model server; `empty`: it has no model yet. */
  state: z.enum(['found', 'empty', 'other', 'absent']),
  models: z.array(z.string()),
})
export type LocalServer = z.infer<typeof localServerSchema>

const defaultModel = z.nullable(z.strictObject({ name: z.string(), from: z.string() }))

/** The agent and the question for which the recording plays. */
const demoQuestion = { agent: z.string(), question: z.string() }

/** A provider to set up. */
const candidate = {
  provider: name,
  /** The key to use; if omitted, the stored key, or no key for a server that needs none. */
  key: z.optional(z.string().check(z.minLength(1), z.maxLength(setupLimits.keyMaxChars))),
  /** If omitted, the provider's default address. */
  base_url: z.optional(
    z.pipe(
      // The URL parser silently drops invalid characters, so a different address than the typed one would be stored.
      z.string().check(z.regex(/^[\x21-\x7e]+$/, 'an address is one line of ASCII without spaces')),
      z.url({ protocol: /^https?$/ }).check(z.maxLength(setupLimits.urlMaxChars)),
    ),
  ),
  /** The model's name without the provider's. If omitted, the default model. */
  model: z.optional(modelName),
}

/** Whether calls of an own server cost nothing. Valid only for a server that is added or changed with it. */
const costsNothing = z.optional(z.boolean())

/** Omitted fields are not set. */
const answer = z.strictObject({
  thinking: z.optional(z.enum(thinkingEfforts)),
  max_output_tokens: z.optional(z.number()),
})
const answers = z.strictObject({
  chat: z.optional(answer),
  task: z.optional(answer),
  heartbeat: z.optional(answer),
})
export type AnswersView = z.infer<typeof answers>

const answersView = z.strictObject({ fleet: answers, agents: z.record(z.string(), answers) })

export const setupApi = {
  setup: {
    response: z.strictObject({
      default_model: defaultModel,
      /** What to change elsewhere if the default model is chosen there; null if this page can change it. */
      default_model_locked: z.nullable(z.string()),
      /** Null if the recording is not the default model. */
      demo: z.nullable(z.strictObject(demoQuestion)),
      providers: z.array(providerOfferSchema),
    }),
  },
  setupLocal: { response: z.strictObject({ servers: z.array(localServerSchema) }) },
  setupCheck: {
    request: z.strictObject(candidate),
    response: z.strictObject({
      /** The `provider/model` that answered; null if none was named and there is no default. */
      answered: z.nullable(z.string()),
      /** The provider's models, without its name; empty if it does not list them. */
      models: z.array(z.string()),
    }),
  },
  setupProvider: {
    request: z.strictObject({
      ...candidate,
      make_default: z._default(z.boolean(), true),
      costs_nothing: costsNothing,
    }),
    response: z.strictObject({ provider: z.string(), model: z.string(), default_model: defaultModel }),
  },
  setupProviderRemove: { response: z.strictObject({ removed: z.string() }) },
  setupModel: {
    /** The default model as `provider/model`; null lets the existing keys decide. */
    request: z.strictObject({ model: z.nullable(modelName) }),
    response: z.strictObject({ default_model: defaultModel }),
  },
  setupDemo: {
    response: z.strictObject({
      default_model: defaultModel,
      /** The template of the fleet for which the recording was made. */
      template: z.string(),
      ...demoQuestion,
    }),
  },
  setupPrice: {
    request: z.strictObject({
      model: providerModel,
      /** Null uses the public price list. */
      price: z.nullable(
        z.strictObject({
          input_per_mtok: z.number().check(z.minimum(0), z.maximum(setupLimits.usdPerMtokMax)),
          output_per_mtok: z.number().check(z.minimum(0), z.maximum(setupLimits.usdPerMtokMax)),
        }),
      ),
    }),
    response: z.strictObject({ model: z.string() }),
  },
  setupAnswers: { response: answersView },
  setupAnswersSet: {
    request: z.strictObject({
      /** Null sets the value of all agents without an own one. */
      agent: z.nullable(agentIdSchema),
      kind: z.enum(answerKinds),
      /** Null removes the setting; an omitted one stays. */
      thinking: z.optional(z.nullable(z.enum(thinkingEfforts))),
      max_output_tokens: z.optional(
        z.nullable(
          z.int().check(z.minimum(answerLimits.outputTokensMin), z.maximum(answerLimits.outputTokensMax)),
        ),
      ),
    }),
    response: answersView,
  },
} as const satisfies Record<SetupEndpointName, EndpointSchemas>
