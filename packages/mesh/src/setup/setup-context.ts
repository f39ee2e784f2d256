import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Environment, SettingsFile } from '../config/index.ts'
import type { Credentials, Vault } from '../credentials/index.ts'
import type { Egress } from '../egress/index.ts'
import type { Kernel } from '../kernel/index.ts'
import { providerPresets } from '../models/index.ts'
import type { KnownModels } from '../models/index.ts'
import type { LocalPlace } from './local-places.ts'

/**
 * What agents think with, chosen by an owner at a page or a terminal; nobody edits a file by hand. A key is tried before it
 * is kept, and written to `.env` of the home; the default model goes to `config/settings.json`. A key that is kept is sent
 * where it was kept for and nowhere else, whoever asks, and a new one goes to an address that is not the usual only where
 * that is given with it; an address of one's own is for the owner on the machine of the mesh, since what is there answers in
 * words. The first provider of a home is free to choose at a page; whatever changes where
 * prompts go after that wants the owner's proof there.
 *
 * Problems: `denied`; `unprocessable` for a provider or a value that cannot be; `conflict` for what the environment of the
 * mesh decides; and those of the provider's own refusal.
 */
export interface SetupContext extends Pick<Kernel, 'guard' | 'journal' | 'settings' | 'clock'> {
  readonly vault: Pick<Vault, 'system' | 'systemSourceOf' | 'changeSystem'>
  readonly settingsFile: Pick<SettingsFile, 'edit'>
  readonly catalog: Pick<KnownModels['catalog'], 'preset'>
  readonly tryProvider: KnownModels['tryProvider']
  readonly environment: Pick<Environment, 'defaultModel' | 'defaultModelFrom'>
  readonly fingerprint: Credentials['fingerprint']
  readonly fetchAt: Egress['fetchAt']
  /** Where servers of models are looked for on this machine. */
  readonly places: readonly LocalPlace[]
}

/** What somebody typed; what is left out is what is kept, or what is usual. */
export interface ProviderInput {
  readonly provider: string
  readonly key?: string | undefined
  readonly base_url?: string | undefined
  readonly model?: string | undefined
}

export function recordSetup(
  { journal }: Pick<SetupContext, 'journal'>,
  caller: Caller,
  row: Pick<Parameters<Kernel['journal']['append']>[0], 'action' | 'subject' | 'detail'>,
): void {
  journal.append({ actor: actorOf(caller), ...row })
}

/** Why nobody can choose the default model here; null where somebody can. Pure. */
export function defaultLocked({
  defaultModel,
  defaultModelFrom,
}: SetupContext['environment']): string | null {
  if (defaultModel === null) return null
  const where = defaultModelFrom === '.env' ? '.env of the home' : 'the environment of the mesh'
  return `FLOTILLA_DEFAULT_MODEL in ${where} chooses ${defaultModel}; take it out there and start the mesh again`
}

/** Problem `conflict` where the environment decides. */
export function requireOwnDefault({ environment }: Pick<SetupContext, 'environment'>): void {
  const locked = defaultLocked(environment)
  if (locked !== null) throw new Problem('conflict', { detail: locked })
}

/** Those that a key and an address are all that they need: nothing of regions or deployments. Pure. */
export function offeredProviders(): readonly string[] {
  return Object.entries(providerPresets).flatMap(([name, { baseUrl }]) => (baseUrl === null ? [] : [name]))
}

/** Without the provider's name. Pure. */
export function usualModelOf(provider: string): string | null {
  const usual = Object.hasOwn(providerPresets, provider) ? providerPresets[provider]?.usualModel : undefined
  return usual?.slice(provider.length + 1) ?? null
}
