import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { isMissing, namesIn, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'

/** A home whose agents run from an image. */
export interface ImageUser {
  readonly id: string
  /** The home's folder; if the folder no longer exists, the home counts as deleted. */
  readonly folder: string
}

/** File in a home's data folder that contains the home's id. */
const homeIdName = 'home-id'
/** The number of images kept for one home: the current one, and the previous one for a rollback. */
const keptPerHome = 2

const useSchema = z.strictObject({ home: z.string(), folder: z.string(), images: z.array(z.string()) })

/**
 * Records that a home uses an image from now on. Uses are recorded by id and folder: a copied home has the same id,
 * and a moved home has another folder.
 */
export async function noteUse(
  cacheDirectory: string,
  home: ImageUser & { /** How many images are kept; 2 if omitted. */ readonly keptMax?: number },
  image: string,
): Promise<void> {
  const folder = usesFolder(cacheDirectory)
  const path = join(folder, `${nameOf(home.id, home.folder)}.json`)
  const before = (await readUse(path))?.images ?? []
  const images = [image, ...before.filter((id) => id !== image)].slice(0, home.keptMax ?? keptPerHome)
  await mkdir(markFolder(cacheDirectory), { recursive: true, mode: 0o700 })
  await writeFile(markPath(cacheDirectory, image), '', { flag: 'a', mode: 0o600 })
  if (before.join() === images.join()) return
  await writeFileAtomically(path, JSON.stringify({ home: home.id, folder: home.folder, images }))
}

/**
 * Returns whether any home ever recorded a use of the image. Earlier releases recorded none, so an image without a
 * record may still be in use.
 */
export async function wasNoted(cacheDirectory: string, image: string): Promise<boolean> {
  return isThere(markPath(cacheDirectory, image))
}

/** Deletes the mark that homes used this image; called after the image was removed. */
export async function forgetUse(cacheDirectory: string, image: string): Promise<void> {
  await rm(markPath(cacheDirectory, image), { force: true })
}

/** Returns the ids of images that existing homes use. Deletes the records of homes that no longer exist. */
export async function imagesInUse(cacheDirectory: string): Promise<ReadonlySet<string>> {
  const folder = usesFolder(cacheDirectory)
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.json'))
  const kept = new Set<string>()
  for (const name of names) {
    const use = await readUse(join(folder, name))
    if (use === null) continue
    if (await isThere(use.folder)) for (const id of use.images) kept.add(id)
    else await rm(join(folder, name), { force: true })
  }
  return kept
}

/** A home of this user for which an engine was prepared, as the records of image uses show. */
export interface KnownHome {
  readonly id: string
  readonly folder: string
  /** False if the folder does not exist or belongs to another home. */
  readonly isThere: boolean
}

/** Returns the homes that have an image record. `imagesInUse` deletes the records of homes that no longer exist. */
export async function knownHomes(cacheDirectory: string): Promise<readonly KnownHome[]> {
  const folder = usesFolder(cacheDirectory)
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.json'))
  const uses = await Promise.all(names.map((name) => readUse(join(folder, name))))
  return Promise.all(
    uses
      .filter((use) => use !== null)
      .map(async ({ home, folder: place }) => {
        // Browser and machine images are recorded under the home's id, a space and a word.
        const id = home.split(' ')[0] ?? home
        const now = await readFile(join(place, homeIdName), 'utf8').catch(() => null)
        return { id, folder: place, isThere: (await isThere(place)) && (now === null || now.trim() === id) }
      }),
  )
}

/** Reads a home's record; null if missing or invalid. Rejects on a read error: the record may name used images. */
async function readUse(path: string) {
  const text = await readTextFile(path)
  if (text === null) return null
  try {
    return useSchema.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** Returns whether a folder exists. A folder that cannot be checked counts as existing. */
async function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    (error: unknown) => !isMissing(error),
  )
}

function markFolder(cacheDirectory: string): string {
  return join(cacheDirectory, 'noted')
}

function markPath(cacheDirectory: string, image: string): string {
  return join(markFolder(cacheDirectory), nameOf(image))
}

function nameOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

function usesFolder(cacheDirectory: string): string {
  return join(cacheDirectory, 'used')
}
