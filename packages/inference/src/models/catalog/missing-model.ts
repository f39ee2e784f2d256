import type { Settings } from '@flotilla/foundation/config'
import { credentialNameOf } from '@flotilla/egress/credentials'
import type { Vault } from '@flotilla/egress/credentials'
import { providerPresets } from '../providers/provider-presets.ts'

interface MissingModelDeps {
  readonly settings: () => Pick<Settings, 'providers'>
  readonly vault: Pick<Vault, 'names'>
  /** Reads the current `.env` of the home. */
  readonly readFile: () => Promise<ReadonlyMap<string, string>>
}

/** Says what an owner does to give agents a model, as a phrase in lower case. */
export function createMissingModel(deps: MissingModelDeps): () => Promise<string> {
  return async () => {
    const systemNames = deps.vault.names().system
    // A broken file is reported at the next start, with its line.
    const file = await deps.readFile().catch(() => new Map<string, string>())
    return missingModelWords({
      providers: Object.keys(deps.settings().providers),
      systemNames,
      writtenSince: [...file].some((entry) => isNews(entry, systemNames)),
    })
  }
}

/** Whether `.env` has a new model setting. Called only if no model is set, so a default model there is new. */
function isNews([variable, value]: readonly [string, string], systemNames: readonly string[]): boolean {
  if (value === '') return false
  if (variable === 'FLOTILLA_DEFAULT_MODEL') return true
  const credential = credentialNameOf(variable)
  return (
    credential?.tier === 'system' &&
    /_(?:api_key|base_url)$/.test(credential.name) &&
    !systemNames.includes(credential.name)
  )
}

/** Returns the next step for the owner; it never asks for a key that is already set. Pure. */
function missingModelWords(known: {
  /** The provider names under `providers` in the settings. */
  readonly providers: readonly string[]
  readonly systemNames: readonly string[]
  /** True if `.env` has model settings that this process has not read. */
  readonly writtenSince: boolean
}): string {
  const { providers, systemNames, writtenSince } = known
  if (writtenSince)
    return `.env in the home was changed since the mesh started; the mesh reads it ${atNextStart}`
  const held = Object.keys(providerPresets).filter((name) =>
    systemNames.some((system) => system === `${name}_api_key` || system === `${name}_base_url`),
  )
  const [first] = [...providers, ...held]
  return first === undefined
    ? `choose a model with flotilla init, or put FLOTILLA_SYSTEM_OPENAI_API_KEY=... (or ANTHROPIC, GOOGLE, ...) into .env in the home, which the mesh reads ${atNextStart}, or set a provider and default_model in config/settings.json`
    : `the provider ${first} is set up, but no model of it is chosen: set FLOTILLA_DEFAULT_MODEL=${first}/MODEL in .env in the home, which the mesh reads ${atNextStart}, or default_model in config/settings.json, which it reads at once`
}

const atNextStart = 'at the next start (flotilla stop, then flotilla start -d)'
