import { createHash, randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import type Dockerode from 'dockerode'
import type { Engine } from '../engine/connect-engine.ts'
import { guardedNode, labelKeys } from '../hardening/container-options.ts'
import { followEngine } from '../image/engine-images.ts'
import { noteUse } from '../image/image-uses.ts'
import { heldById, imageId, knownImage, noteImage } from '../image/known-images.ts'
import { ownImageName, pruneImages } from '../image/prune-images.ts'
import { packagesRole } from '../packages/build-container.ts'
import type { DeriveBase, DeriveOptions } from '../packages/derivation.ts'
import { programsPath } from '../packages/programs-path.ts'
import type { ReportStep } from '../report-step.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import { findOwnImage, ownImageMaxBytes } from './find-own-image.ts'
import { joinImages } from './join-images.ts'
import { keptEnvironment } from './own-places.ts'
import { refusedImage } from './refused-image.ts'

/** Counts the changes of how images are joined, after which each is made again. */
const recipeVersion = '1'
/** How many images of the owner are kept for one home. */
const keptImagesMax = 16

/** The time limit for joining and probing one image, in milliseconds. */
const makeTimeoutMs = 15 * 60_000

export type OwnImageOptions = Pick<DeriveOptions, 'homeId' | 'cacheDirectory' | 'volumesFolder' | 'clock'>

/**
 * Returns the id of the image from which agents run for an image of the owner. Makes it at first use, and again when the
 * agent image changed. `probe` rejects if the walls do not hold in it, or if the agent cannot start from it.
 */
export async function makeOwnImage(
  options: OwnImageOptions,
  base: DeriveBase,
  of: {
    readonly reference: string
    readonly progress: ReportStep
    readonly signal: AbortSignal
    readonly probe: (image: string, signal: AbortSignal) => Promise<void>
  },
): Promise<string> {
  const { engine } = base
  const name = nameOf(base, of.reference)
  const known = await knownImage(options.cacheDirectory, name)
  if (known !== null) await note(options, known.id)
  const held = await heldById(engine, options.cacheDirectory, name)
  if (held !== null) return held
  const own = await findOwnImage(engine, of.reference, of)
  of.progress(`Making an image for agents from ${of.reference}`)
  const signal = AbortSignal.any([of.signal, AbortSignal.timeout(makeTimeoutMs)])
  const draft = `${ownImageName}draft-${randomUUID()}`
  try {
    await withFiles(options, { engine, own: own.id, agent: base.image }, async (files, agentFiles) => {
      const joined = joinImages({
        own: files,
        agent: agentFiles,
        maxBytes: ownImageMaxBytes,
        refuse: (reason) => refusedImage(of.reference, reason),
      })
      await importFiles(engine, { joined, draft, changes: changesOf(options, own.environment), signal })
    })
    const id = await imageId(engine, draft)
    if (id === null) throw new SandboxError('engine-refused', `The engine has no image ${draft}.`)
    await of.probe(id, signal)
    await note(options, id)
    await engine.docker.getImage(draft).tag({ repo: name.slice(0, name.lastIndexOf(':')), tag: tagOf(name) })
    await noteImage(options.cacheDirectory, { reference: name, id, digest: null })
    await pruneImages(engine, options.cacheDirectory, options.clock.now())
    return id
  } catch (error) {
    of.signal.throwIfAborted()
    if (!signal.aborted) throw error
    throw new SandboxError(
      'packages-late',
      `The image ${of.reference} was not made fit for agents within ${makeTimeoutMs / 60_000} minutes.\nRepair: name a smaller image, or wait until this machine has less to do.`,
      { cause: error },
    )
  } finally {
    // The name of the finished image keeps its files.
    await engine.docker
      .getImage(draft)
      .remove()
      .catch(() => undefined)
  }
}

/** Calls `use` with the files of images, without running anything of them. */
async function withFiles(
  { homeId }: OwnImageOptions,
  { engine, own, agent }: { readonly engine: Engine; readonly own: string; readonly agent: string },
  use: (own: Readable, agent: Readable) => Promise<void>,
): Promise<void> {
  const containers: Dockerode.Container[] = []
  const opened: Readable[] = []
  try {
    const filesOf = async (Image: string): Promise<Readable> => {
      const container = await engine.docker.createContainer({
        Image,
        Cmd: ['/never-started'],
        Entrypoint: [],
        Labels: { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: packagesRole },
        HostConfig: { NetworkMode: 'none' },
      })
      containers.push(container)
      const files = Readable.from(await container.export())
      opened.push(files)
      return files
    }
    await use(await filesOf(own), await filesOf(agent))
  } finally {
    for (const files of opened) files.destroy()
    await Promise.allSettled(containers.map((container) => container.remove({ force: true, v: true })))
  }
}

/** Rejects with the error of the archive itself, if it has one: the engine then knows only that it ended early. */
async function importFiles(
  engine: Engine,
  of: {
    readonly joined: AsyncGenerator<Uint8Array>
    readonly draft: string
    readonly changes: readonly string[]
    readonly signal: AbortSignal
  },
): Promise<void> {
  let fault: unknown = null
  const archive = Readable.from(of.joined, { signal: of.signal }).on('error', (error) => {
    fault = error
  })
  try {
    const imported = await engine.docker.importImage(archive, {
      repo: of.draft,
      changes: [...of.changes],
      abortSignal: of.signal,
    })
    await followEngine(engine, imported)
  } catch (error) {
    throw fault ?? error
  }
  if (fault !== null) throw fault
}

/** The settings of the image. Entry point, user, volumes, health check and triggers of the owner's image are not kept. */
function changesOf({ homeId }: OwnImageOptions, environment: readonly string[]): readonly string[] {
  const { uid } = sandboxHardening
  return [
    `USER ${uid}:${uid}`,
    'WORKDIR /data',
    ...keptEnvironment(environment, programsPath).map((pair) => `ENV ${pair}`),
    'ENV HOME=/data',
    'ENV PIP_BREAK_SYSTEM_PACKAGES=1',
    `LABEL ${labelKeys.home}=${homeTag(homeId)}`,
    `LABEL ${labelKeys.role}=${packagesRole}`,
    `CMD ${JSON.stringify([...guardedNode, '/opt/flotilla/agent.cjs'])}`,
  ]
}

async function note(
  { cacheDirectory, homeId, volumesFolder }: OwnImageOptions,
  image: string,
): Promise<void> {
  // Recorded under an id of its own, so that the images of each kind are kept for a home.
  await noteUse(
    cacheDirectory,
    { id: `${homeId} own`, folder: dirname(volumesFolder), keptMax: keptImagesMax },
    image,
  )
}

function nameOf({ image }: DeriveBase, reference: string): string {
  const digest = createHash('sha256').update(`${recipeVersion} ${image} ${reference}`).digest('hex')
  return `${ownImageName}${digest.slice(0, 16)}`
}

function tagOf(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1)
}
