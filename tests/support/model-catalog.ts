import { settingsSchema } from '../../packages/foundation/src/config/settings-file.ts'
import { createMakeProvider } from '../../packages/inference/src/models/providers/make-provider.ts'
import type { MakeProviderDeps } from '../../packages/inference/src/models/providers/make-provider.ts'
import { createModelCatalog } from '../../packages/inference/src/models/catalog/model-catalog.ts'
import type { ModelCatalog } from '../../packages/inference/src/models/catalog/model-catalog.ts'
import { randomId, systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import type { Vault } from '../../packages/egress/src/credentials/vault.ts'

/** The model catalog of an owner with these settings and keys. */
export function aModelCatalog(owner: {
  readonly settings?: object
  readonly vault: Vault
  readonly environmentDefaultModel?: string | null
  /** Without this factory, no scripted model can be requested. */
  readonly makeScripted?: MakeProviderDeps['makeScripted']
}): ModelCatalog {
  return createModelCatalog({
    settings: () => settingsSchema.parse(owner.settings ?? {}),
    vault: owner.vault,
    environmentDefaultModel: owner.environmentDefaultModel ?? null,
    environmentDefaultModelFrom: 'environment',
    makeProvider: createMakeProvider({
      clock: systemClock,
      newId: randomId,
      makeScripted:
        owner.makeScripted ??
        (() => {
          throw new Error('not asked')
        }),
    }),
  })
}
