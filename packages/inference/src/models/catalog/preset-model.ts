import type { Settings } from '@flotilla/foundation/config'
import { providerPresets } from '../providers/provider-presets.ts'

/** The model of agents that name none, and what selected it. */
export interface PresetModel {
  readonly name: string
  /** The file or variable that set the model, as a phrase for messages. */
  readonly from: string
}

/** The possible sources of a default model. */
interface ModelChoices {
  /** FLOTILLA_DEFAULT_MODEL; wins over the settings. */
  readonly environment: string | null
  readonly environmentFrom: 'environment' | '.env'
  readonly settings: Pick<Settings, 'default_model'>
  readonly hasSystemCredential: (name: string) => boolean
}

/**
 * Returns the model of agents that name none: the owner's setting, or the usual model of the first provider with a
 * key; null otherwise. Skips a provider with a base URL of its own, which may lead to any server. Pure.
 */
export function presetModel(known: ModelChoices): PresetModel | null {
  const { environment, environmentFrom, settings, hasSystemCredential } = known
  if (environment !== null) {
    const where = environmentFrom === '.env' ? 'in .env' : 'in the environment of the mesh'
    return { name: environment, from: `FLOTILLA_DEFAULT_MODEL ${where}` }
  }
  if (settings.default_model !== undefined) {
    return { name: settings.default_model, from: 'default_model in config/settings.json' }
  }
  for (const [name, { usualModel }] of Object.entries(providerPresets)) {
    if (usualModel === undefined || !hasSystemCredential(`${name}_api_key`)) continue
    if (hasSystemCredential(`${name}_base_url`)) continue
    return { name: usualModel, from: `the usual model of ${name}, because its key is set` }
  }
  return null
}
