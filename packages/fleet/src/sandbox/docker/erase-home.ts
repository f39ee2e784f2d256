import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { removePrivateNetwork } from '../network/private-network.ts'
import { labelKeys } from '../hardening/container-options.ts'

const containersSchema = z.array(z.looseObject({ Id: z.string(), Image: z.string().nullish() }))
const volumesSchema = z.looseObject({ Volumes: z.array(z.looseObject({ Name: z.string() })).nullish() })
const imagesSchema = z.array(z.looseObject({ RepoTags: z.array(z.string()).nullish() }))

/** Deletes everything with the home's label: containers, then volumes, then networks with their rules. Idempotent. */
export async function eraseHome(
  engine: Engine,
  home: { readonly homeTag: string; readonly uid: number },
): Promise<void> {
  const { docker } = engine
  const label = [`${labelKeys.home}=${home.homeTag}`]
  const containers = containersSchema.parse(await docker.listContainers({ all: true, filters: { label } }))
  await Promise.all(
    containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true }).catch(unlessGone)),
  )
  const { Volumes } = volumesSchema.parse(await docker.listVolumes({ filters: { label } }))
  await Promise.all(
    (Volumes ?? []).map(({ Name }) => docker.getVolume(Name).remove({ force: true }).catch(unlessGone)),
  )
  const worker = { engine, image: await anyAgentImage(engine), uid: home.uid, homeTag: home.homeTag }
  await removePrivateNetwork(worker)
  await removePrivateNetwork(worker, 'browsers')
}

/** Returns the name of any agent image, in which a mesh without root can remove firewall rules; empty if none. */
async function anyAgentImage({ docker }: Engine): Promise<string> {
  const images = imagesSchema.parse(await docker.listImages())
  return images.flatMap(({ RepoTags }) => RepoTags ?? []).find((tag) => tag.includes('flotilla/agent')) ?? ''
}

function unlessGone(error: unknown): void {
  if (!isStatus(error, 404)) throw error
}
