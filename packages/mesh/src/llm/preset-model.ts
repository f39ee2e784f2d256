import type { Settings } from '../config/settings-file.ts'
import { providerPresets } from './provider-presets.ts'

/**
 * The model of agents that name none: the owner's word, or the usual one of the first provider whose key is there;
 * null when there is none. A base URL may lead anywhere, so with one the owner must say which model. Pure.
 */
export function presetModel(known: {
  /** FLOTILLA_DEFAULT_MODEL; wins over the settings. */
  readonly environment: string | null
  readonly settings: Pick<Settings, 'default_model'>
  readonly hasSystemCredential: (name: string) => boolean
}): string | null {
  const { environment, settings, hasSystemCredential } = known
  const usual = Object.entries(providerPresets).find(
    ([name, preset]) =>
      preset.usualModel !== undefined &&
      hasSystemCredential(`${name}_api_key`) &&
      !hasSystemCredential(`${name}_base_url`),
  )
  return environment ?? settings.default_model ?? usual?.[1].usualModel ?? null
}
