import * as z from 'zod'

export const modelName = z.string().min(1).max(200)
/** The maximum number of fallback models, each of which may be called three times before the next. */
const fallbacksMax = 5
const usdPerMtok = z.number().min(0).max(100_000)

/**
 * `true`: the model runs on the owner's machine and costs nothing. `false`: it costs the public list price, as with a
 * local proxy that forwards calls to a paid provider. If omitted, it costs nothing if its `base_url` is a loopback
 * address. A price in the model's own settings overrides this.
 */
export const local = z.boolean().optional()

const modelSchema = z.strictObject({
  price: z
    .strictObject({
      input_per_mtok: usdPerMtok,
      output_per_mtok: usdPerMtok,
      /** The price of tokens that the provider reads from its prompt cache; the full price if omitted. */
      cached_input_per_mtok: usdPerMtok.optional(),
    })
    .optional(),
  local,
  /**
   * Whether the model accepts pictures; if omitted, the mesh tries, and replaces pictures by text after a refusal.
   */
  images: z.boolean().optional(),
  /** The context window of the model in tokens. */
  context: z.number().int().positive().optional(),
  /** The maximum length of an answer in tokens for a call that sets no `max_tokens`. */
  max_output_tokens: z.number().int().positive().optional(),
  /** Fallback models, in order; each must be on the list of the calling agent. */
  fallback: z.array(modelName).max(fallbacksMax).optional(),
  /** Tools that may run at the model's provider, outside of the mesh's isolation, by type; see SECURITY.md. */
  server_tools: z
    .record(
      z.string().min(1).max(100),
      z.strictObject({
        /** The provider's price for one call, in US dollars. */
        usd_per_call: z.number().min(0).max(1000),
        /** The maximum number of calls within one model call. */
        max_calls: z.number().int().min(1).max(100),
        /** The maximum number of tokens that one call may add to the prompt. */
        max_tokens_per_call: z.number().int().min(1).max(1_000_000).default(25_000),
      }),
    )
    .optional(),
})

/** Settings of models by `provider/model`, and the models that the owner chose for heartbeats and for summaries. */
export const modelsSchema = z
  .object({
    /** The model that answers in heartbeats, in place of each agent's own model. */
    heartbeat: modelName.optional(),
    /** The model that summarizes conversations and extracts facts from them, in place of each agent's own model. */
    compaction: modelName.optional(),
  })
  .catchall(modelSchema)

export type ModelSettings = z.infer<typeof modelSchema>
type Models = z.infer<typeof modelsSchema>

/** Returns the settings of a model by `provider/model`. Pure. */
export function modelSettingsOf(
  { models }: { readonly models: Models },
  id: string,
): ModelSettings | undefined {
  return modelEntries({ models }).get(id)
}

/** Returns the settings of all models by `provider/model`. Pure. */
export function modelEntries({ models }: { readonly models: Models }): ReadonlyMap<string, ModelSettings> {
  const { heartbeat: _heartbeat, compaction: _compaction, ...named } = models
  return new Map(Object.entries(named))
}
