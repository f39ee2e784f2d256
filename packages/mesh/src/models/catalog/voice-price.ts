import { calcPrice } from '@pydantic/genai-prices'
import { Problem } from '@flotilla/protocol/problem'
import { nanoFromUsd, nanoPerUsd } from '../../spending/index.ts'
import type { TranscriptionTokens } from '../formats/transcription-format.ts'
import type { PricedModel } from './price-list.ts'

/** What it costs to have sound written down. */
export interface VoicePrice {
  readonly nanoPerSecond: number
  /** For providers that bill by tokens; null if their price is unknown. */
  tokensNano(tokens: TranscriptionTokens): number | null
}

/**
 * The owner's price of a minute where there is one, else nothing for what is free. What neither knows is the Problem
 * `model-unpriced`.
 */
export function voicePriceOf(model: PricedModel, usdPerMinute: number | null, now: number): VoicePrice {
  if (usdPerMinute === null && !model.free) {
    throw new Problem('model-unpriced', {
      detail: `nobody says what a minute of sound costs at ${model.id}; write channels.voice.usd_per_minute in config/settings.json`,
      extra: { model: model.id },
    })
  }
  return {
    nanoPerSecond: ((usdPerMinute ?? 0) * nanoPerUsd) / 60,
    tokensNano: (tokens) => listedNano(model, tokens, now),
  }
}

/** By the public list. A model that is billed by the minute has no price of tokens there. */
function listedNano(model: PricedModel, tokens: TranscriptionTokens, now: number): number | null {
  const places = [
    ...(model.baseUrl === null ? [] : [{ providerApiUrl: model.baseUrl }]),
    { providerId: model.provider },
  ]
  const used = { input_tokens: tokens.input, input_audio_tokens: tokens.audio, output_tokens: tokens.output }
  for (const place of places) {
    const found = calcPrice(used, model.model, { ...place, timestamp: new Date(now) })
    const { input_mtok: input, output_mtok: output } = found?.model_price ?? {}
    if (found && input !== undefined && output !== undefined) return nanoFromUsd(found.total_price)
  }
  return null
}
