import { calcPrice } from '@pydantic/genai-prices'
import { modelSettingsOf } from '@flotilla/foundation/config'
import type { Settings } from '@flotilla/foundation/config'
import { fullName } from './resolve-model.ts'
import type { ModelName } from './resolve-model.ts'

/**
 * Returns the context window of a model: the owner's `models.*.context`, else the public list as of this release,
 * which finds the newest names by pattern; null if unknown. Pure.
 */
export function windowOfModel(settings: Settings, name: ModelName): number | null {
  const id = fullName(name)
  const own = modelSettingsOf(settings, id)?.context
  if (own !== undefined) return own
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, name.model, { providerId: name.provider })
  return found?.model.context_window ?? null
}
