import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { packagesRole } from './build-container.ts'

const listSchema = z.array(z.looseObject({ Id: z.string() }))

/** Removes images without a name that a mesh stored and was killed before it named them. */
export async function removeUnfinishedImages({ docker }: Engine, homeTag: string): Promise<void> {
  const label = [`${labelKeys.home}=${homeTag}`, `${labelKeys.role}=${packagesRole}`]
  const images = listSchema.parse(await docker.listImages({ filters: { label, dangling: ['true'] } }))
  for (const { Id } of images) {
    // A layer of a named image cannot be removed, and stays.
    await docker
      .getImage(Id)
      .remove()
      .catch(() => undefined)
  }
}
