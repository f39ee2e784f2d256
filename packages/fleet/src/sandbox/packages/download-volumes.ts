import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { isStatus } from '../image/engine-images.ts'
import { packagesRole } from './build-container.ts'

type Volumes = { readonly docker: Pick<Engine['docker'], 'getVolume' | 'listVolumes'> }

const listSchema = z.looseObject({ Volumes: z.array(z.looseObject({ Name: z.string() })).nullish() })

/**
 * Removes a volume of downloads after the containers that used it. An engine keeps the volume of a removed container if
 * another container uses it, and the removal of that one does not remove it either. Idempotent.
 */
export async function removeDownloads({ docker }: Volumes, name: string): Promise<void> {
  await docker
    .getVolume(name)
    .remove()
    .catch((error: unknown) => {
      if (!isStatus(error, 404)) throw error
    })
}

/** Removes volumes of downloads that a mesh left when it was killed. */
export async function removeUnfinishedDownloads(engine: Volumes, homeTag: string): Promise<void> {
  const label = [`${labelKeys.home}=${homeTag}`, `${labelKeys.role}=${packagesRole}`]
  const { Volumes } = listSchema.parse(await engine.docker.listVolumes({ filters: { label } }))
  // A volume that another program of the machine uses stays.
  for (const { Name } of Volumes ?? []) await removeDownloads(engine, Name).catch(() => undefined)
}
