import { calcPrice } from '@pydantic/genai-prices'
import { Problem } from '@flotilla/protocol/problem'
import { nanoFromUsd, nanoPerUsd } from '../../spending/index.ts'
import type { TranscriptionTokens } from '../formats/transcription-format.ts'
import type { PricedModel } from './model-prices.ts'

/** The price of transcribing sound. */
export interface VoicePrice {
  readonly nanoPerSecond: number
  /** Returns the cost in nano-dollars at a provider that bills by tokens; null if the price of a token is unknown. */
  tokensNano(tokens: TranscriptionTokens): number | null
}

/**
 * Returns the owner's price per minute if set; zero for a free model. Throws the Problem `model-unpriced` for a paid
 * model without the owner's price.
 */
export function voicePriceOf(model: PricedModel, usdPerMinute: number | null, now: number): VoicePrice {
  if (usdPerMinute === null && !model.free) {
    throw new Problem('model-unpriced', {
      detail: `the price of a minute of sound at ${model.id} is unknown; set channels.voice.usd_per_minute in config/settings.json`,
      extra: { model: model.id },
    })
  }
  return {
    nanoPerSecond: ((usdPerMinute ?? 0) * nanoPerUsd) / 60,
    tokensNano: (tokens) => listedNano(model, tokens, now),
  }
}

/** Returns the cost by the public price list; null for a model that the list does not bill by tokens. */
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
