import type { Settings } from '../config/settings-file.ts'

/** What a fleet thinks with whose owner has given OpenAI's key and chosen nothing. */
const modelForOpenAiKey = 'openai/gpt-5-mini'

/**
 * The model of agents that name none: the owner's word, or the usual one for OpenAI's own key; null when neither
 * is there. A base URL may lead anywhere, so with one the owner must say which model. Pure.
 */
export function presetModel(known: {
  /** FLOTILLA_DEFAULT_MODEL; wins over the settings. */
  readonly environment: string | null
  readonly settings: Pick<Settings, 'default_model'>
  readonly hasSystemCredential: (name: string) => boolean
}): string | null {
  const { environment, settings, hasSystemCredential } = known
  const usual = hasSystemCredential('openai_api_key') && !hasSystemCredential('openai_base_url')
  return environment ?? settings.default_model ?? (usual ? modelForOpenAiKey : null)
}
