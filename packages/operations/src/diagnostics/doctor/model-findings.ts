import type { Settings } from '@flotilla/foundation/config'
import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

const keyRepair =
  'Choose a model with flotilla init. Or put a key such as FLOTILLA_SYSTEM_OPENAI_API_KEY=... or FLOTILLA_SYSTEM_ANTHROPIC_API_KEY=... into .env of the home, or name a provider in config/settings.json.'

/** Reports whether agents have a model. Pure. */
export function modelFindings(known: {
  readonly settings: Settings
  readonly systemNames: readonly string[]
  /** The default model, and the setting that chose it, as text. */
  readonly defaultModel: { readonly name: string; readonly from: string } | null
  /** Providers that need only credentials. */
  readonly presets: readonly string[]
}): readonly DoctorFinding[] {
  const { settings, systemNames, defaultModel, presets } = known
  const providers = [
    ...Object.keys(settings.providers),
    ...presets.filter((name) =>
      systemNames.some((held) => held === `${name}_api_key` || held === `${name}_base_url`),
    ),
  ]
  const missing = Object.entries(settings.providers).flatMap(([name, provider]) =>
    'api_key' in provider && provider.api_key && !systemNames.includes(provider.api_key.toLowerCase())
      ? [
          failure(
            'provider-key',
            `the provider ${name} needs FLOTILLA_SYSTEM_${provider.api_key.toUpperCase()}, which is not set`,
            'Add the variable to .env in the home, then restart the mesh.',
          ),
        ]
      : [],
  )
  return [
    providers.length > 0 || defaultModel?.name.startsWith('scripted/')
      ? ok('provider-configured', `providers: ${providers.join(', ') || 'scripted'}`)
      : warning(
          'provider-configured',
          'no model provider is set up, so agents can only use recorded conversations (cassettes)',
          keyRepair,
        ),
    defaultModel === null
      ? warning(
          'default-model',
          'no model is set up yet',
          'Choose a model with flotilla init. Or set FLOTILLA_DEFAULT_MODEL, or default_model in config/settings.json, to provider/model.',
        )
      : ok('default-model', `${defaultModel.name}: ${defaultModel.from}`),
    ...missing,
    ...voiceFindings(settings, [...providers, 'scripted', 'offline']),
  ]
}

/** Checks that the model for transcribing voice notes belongs to a configured provider. Pure. */
function voiceFindings(
  { channels: { voice } }: Settings,
  providers: readonly string[],
): readonly DoctorFinding[] {
  if (voice === undefined) return []
  const [provider = ''] = voice.model.split('/')
  const isKnown = !voice.model.includes('/') || providers.includes(provider)
  return [
    isKnown
      ? ok('voice-model', `voice notes are transcribed by ${voice.model}`)
      : failure(
          'voice-model',
          `channels.voice.model names ${voice.model}, but the provider ${provider} is not set up, so voice notes are rejected`,
          'Set channels.voice.model in config/settings.json to a model of a provider that is set up, or add ${provider} under providers there.',
        ),
  ]
}
