import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Environment, SettingsFile } from '@flotilla/foundation/config'
import type { Credentials, Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Kernel } from '@flotilla/identity/kernel'
import { providerPresets } from '@flotilla/inference/models'
import type { KnownModels } from '@flotilla/inference/models'
import type { LocalPlace } from './local-places.ts'

/**
 * The setup of the model, by an owner in the dashboard or a terminal, without editing files. A key is tested before
 * it is stored in `.env` of the home; the default model is stored in `config/settings.json`. A stored key is sent
 * only to the address that it was stored for. A new key is sent to a custom address only if both were entered
 * together. Custom addresses are reserved for the owner on the machine of the mesh, because error texts of the server
 * are shown. The dashboard may choose the first provider freely; later changes of where prompts go need the owner's
 * code.
 *
 * Problems: `denied`; `unprocessable` for an unknown provider or an invalid value; `conflict` for a value that the
 * environment of the mesh sets; and those with which the provider rejects the test call.
 */
export interface SetupContext extends Pick<Kernel, 'guard' | 'journal' | 'settings' | 'clock'> {
  readonly vault: Pick<Vault, 'system' | 'systemSourceOf' | 'changeSystem'>
  readonly settingsFile: Pick<SettingsFile, 'edit'>
  readonly catalog: Pick<KnownModels['catalog'], 'preset'>
  readonly tryProvider: KnownModels['tryProvider']
  readonly environment: Pick<Environment, 'defaultModel' | 'defaultModelFrom'>
  readonly fingerprint: Credentials['fingerprint']
  readonly fetchAt: Egress['fetchAt']
  /** The addresses on this machine that are checked for model servers. */
  readonly places: readonly LocalPlace[]
}

/** The input of an owner; a missing field means the stored value, or the provider's usual value if none is stored. */
export interface ProviderInput {
  readonly provider: string
  readonly key?: string | undefined
  readonly base_url?: string | undefined
  readonly model?: string | undefined
}

/** What is stored of a provider. */
export interface StoredInput extends ProviderInput {
  readonly make_default: boolean
  /** Whether calls of an own server are free. */
  readonly costs_nothing?: boolean | undefined
}

export function recordSetup(
  { journal }: Pick<SetupContext, 'journal'>,
  caller: Caller,
  row: Pick<Parameters<Kernel['journal']['append']>[0], 'action' | 'subject' | 'detail'>,
): void {
  journal.append({ actor: actorOf(caller), ...row })
}

/** Returns why the default model cannot be chosen here, or null if it can. Pure. */
export function defaultLocked({
  defaultModel,
  defaultModelFrom,
}: SetupContext['environment']): string | null {
  if (defaultModel === null) return null
  const where = defaultModelFrom === '.env' ? '.env of the home' : 'the environment of the mesh'
  return `FLOTILLA_DEFAULT_MODEL in ${where} sets the default model ${defaultModel}, so it cannot be changed here; remove the variable there and restart the mesh`
}

/** Throws the Problem `conflict` if the environment of the mesh sets the default model. */
export function requireOwnDefault({ environment }: Pick<SetupContext, 'environment'>): void {
  const locked = defaultLocked(environment)
  if (locked !== null) throw new Problem('conflict', { detail: locked })
}

/** Providers that need only a key and an address, without regions or deployments. Pure. */
export function offeredProviders(): readonly string[] {
  return Object.entries(providerPresets).flatMap(([name, { baseUrl }]) => (baseUrl === null ? [] : [name]))
}

/** The usual model of a provider, without the provider's name. Pure. */
export function usualModelOf(provider: string): string | null {
  const usual = Object.hasOwn(providerPresets, provider) ? providerPresets[provider]?.usualModel : undefined
  return usual?.slice(provider.length + 1) ?? null
}
