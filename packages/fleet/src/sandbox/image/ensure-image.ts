import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import type { Engine } from '../engine/connect-engine.ts'
import type { ReportStep } from '../report-step.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { tarArchive, tarDirectory, tarFile, type TarEntry } from '../tar-archive.ts'
import { ensureBaseImage } from './base-image.ts'
import { followEngine } from './engine-images.ts'
import { noteUse } from './image-uses.ts'
import { heldById, imageId, knownImage, noteImage } from './known-images.ts'
import { pruneImages } from './prune-images.ts'

/** Certificate authorities that the owner trusts in addition to the distribution's. */
const hostAuthorities = '/usr/local/share/ca-certificates'

/** How often a build is tried if another mesh removes the build's intermediate layers. */
const buildTriesMax = 3

/** Where to get parts of images that this machine lacks. */
interface ImageSources {
  readonly baseImage?: string | undefined
  /** Proxy variables for downloads during a build, in upper and lower case; they may contain a password. */
  readonly proxyVariables?: Readonly<Record<string, string>> | undefined
}

export interface ImageOptions extends ImageSources {
  readonly engine: Engine
  /** Folder of the `Dockerfile`, `packages.txt` and other files of the recipe. */
  readonly recipeDirectory: string
  /** Folder from which Node's packages are resolved: the repository, or the installed package. */
  readonly packageDirectory: string
  readonly cacheDirectory: string
  /**
   * The home that uses the image. The last two images of a home are kept while the parent of `volumesFolder` exists.
   */
  readonly homeId: string
  readonly volumesFolder: string
  readonly noInstall: boolean
  readonly uid: number
  readonly clock: Clock
  readonly progress: ReportStep
  readonly signal?: AbortSignal | undefined
}

export interface MadeImage {
  readonly reference: string
  /** The image's id, from which containers are created, because any image can get the name `reference` later. */
  readonly id: string
  /** True if this call built the image. */
  readonly built: boolean
}

export type Part = readonly [name: string, content: string | Uint8Array]

export interface NamedFile {
  readonly name: string
  readonly content: Buffer
}

/** The properties of one kind of image. */
export interface ImagePlan {
  /** Name of this kind of image without its tag. The prefix `localhost` keeps engines from asking a registry. */
  readonly name: string
  /** Label for people: "the agent image". */
  readonly label: string
  /** Names of recipe files that are sent to the build unchanged; includes `Dockerfile` and `packages.txt`. */
  readonly recipeFiles: readonly string[]
  /** The inputs that identify an image, in addition to recipe, base and authorities. */
  readonly parts: readonly Part[]
  /** Fetches or creates further files of the image while the base is fetched; returns a function that reads them. */
  readonly prepare: (authorities: readonly NamedFile[]) => Promise<() => Promise<readonly TarEntry[]>>
}

export const ofRoot = { uid: 0, mode: 0o644 } as const

/**
 * Returns an image whose tag is a hash of all its inputs, so an unchanged image is found in milliseconds and a
 * changed one has another tag. An image with that tag that the mesh did not build is replaced. Rejects with
 * `SandboxError`.
 */
export async function ensureImage(options: ImageOptions, plan: ImagePlan): Promise<MadeImage> {
  const recipe = await Promise.all(
    plan.recipeFiles.map(async (name) => ({
      name,
      content: await readFile(join(options.recipeDirectory, name)),
    })),
  )
  const authorities = await readAuthorities()
  const tag = tagOf([
    ...plan.parts,
    ['base', options.baseImage ?? ''],
    ...recipe.map((file): Part => [file.name, file.content]),
    ...authorities.map((file): Part => [`ca/${file.name}`, file.content]),
  ])
  const reference = `${plan.name}${tag}`
  const home = { id: options.homeId, folder: dirname(options.volumesFolder) }
  // The use is recorded before the lookup, so that another mesh that prunes images now keeps this one.
  const known = await knownImage(options.cacheDirectory, reference)
  if (known !== null) await noteUse(options.cacheDirectory, home, known.id)
  const held = await heldById(options.engine, options.cacheDirectory, reference)
  if (held !== null) return { reference, id: held, built: false }

  const packages =
    recipe
      .find((file) => file.name === 'packages.txt')
      ?.content.toString('utf8')
      .split(/\s+/)
      .filter(Boolean) ?? []
  // Starts before the base is fetched, which takes longer, and runs at the same time.
  const prepared = plan.prepare(authorities)
  // A rejection is handled where the promise is awaited.
  prepared.catch(() => undefined)
  const base = await ensureBaseImage({ ...options, packages })
  const entries = await prepared
  options.progress(`Building ${plan.label}`)
  // Sending a file consumes its stream, so each attempt creates the streams again.
  const contextOf = async () => [
    ...recipe.map((file) => tarFile(file.name, file.content, ofRoot)),
    tarDirectory('ca', { uid: 0, mode: 0o755 }),
    ...authorities.map((file) => tarFile(`ca/${file.name}`, file.content, ofRoot)),
    ...(await entries()),
  ]
  for (let tries = 1; ; tries++) {
    try {
      await build(options, { reference, base, context: await contextOf() })
      break
    } catch (error) {
      if (tries >= buildTriesMax || !isStepLost(error)) throw error
    }
  }
  const id = await imageId(options.engine, reference)
  if (id === null)
    throw new SandboxError(
      'engine-refused',
      `The engine built the image ${reference}, but the image does not exist.\nRepair: run flotilla doctor, then start again.`,
    )
  // The use is recorded before the image: pruning removes only images that are recorded as built here.
  await noteUse(options.cacheDirectory, home, id)
  await noteImage(options.cacheDirectory, { reference, id, digest: null })
  await pruneImages(options.engine, options.cacheDirectory, options.clock.now())
  return { reference, id, built: true }
}

async function build(
  { engine, signal, proxyVariables }: ImageOptions,
  of: { readonly reference: string; readonly base: string; readonly context: readonly TarEntry[] },
): Promise<void> {
  const stream = await engine.docker.buildImage(Readable.from(tarArchive(of.context)), {
    t: of.reference,
    ...downloadOptions(of.base, proxyVariables),
    // The builder's intermediate containers are removed; its layers stay as a cache for the next bundle.
    rm: true,
    forcerm: true,
    ...(signal ? { abortSignal: signal } : {}),
  })
  await followEngine(engine, stream)
}

/**
 * Returns the arguments of a build. The engine passes proxy variables to each step without a line in the recipe, and
 * keeps them out of the image and its history. A proxy on this machine's loopback needs the host network. Pure.
 */
export function downloadOptions(
  base: string,
  proxyVariables: Readonly<Record<string, string>> = {},
): { readonly buildargs: Record<string, string>; readonly networkmode?: 'host' } {
  const isHere = Object.values(proxyVariables).some((value) =>
    /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?(?:localhost|127\.[0-9.]+|\[::1\])(?::|\/|$)/i.test(value),
  )
  return { buildargs: { BASE: base, ...proxyVariables }, ...(isHere ? { networkmode: 'host' } : {}) }
}

/**
 * Returns whether the engine lost an intermediate layer during the build because another mesh on this machine removed
 * its old images with that layer. A new build creates the layer again. Pure.
 */
export function isStepLost(error: unknown): boolean {
  return /unrecognized image ID|no such image/i.test(reasonOf(error))
}

export async function tarFileFrom(name: string, path: string, mode: number): Promise<TarEntry> {
  return { name, uid: 0, mode, size: (await stat(path)).size, content: createReadStream(path) }
}

function tagOf(parts: readonly Part[]): string {
  const hash = createHash('sha256')
  for (const [name, content] of parts) {
    hash.update(`${name}:${createHash('sha256').update(content).digest('hex')}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

async function readAuthorities(): Promise<readonly NamedFile[]> {
  const names = await readdir(hostAuthorities).catch(() => [])
  const sorted = names.filter((name) => name.endsWith('.crt')).toSorted()
  return Promise.all(
    sorted.map(async (name) => ({ name, content: await readFile(join(hostAuthorities, name)) })),
  )
}
