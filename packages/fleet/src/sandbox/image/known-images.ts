import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { namesIn, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from './engine-images.ts'

/**
 * Images that the mesh built or pulled itself, by reference. Any client of the engine may give an image any name, so
 * the record holds the id, which is a hash of the content.
 */
const knownSchema = z.strictObject({
  reference: z.string(),
  id: z.string(),
  /** The image's `name@sha256:...` in its registry; null for an image that was built on this machine. */
  digest: z.string().nullable(),
})

export type KnownImage = z.infer<typeof knownSchema>

/**
 * Returns the record of an image; null for an unknown image or an invalid record. Rejects if the record cannot be
 * read now: without its record, an image would be pulled without its pinned digest.
 */
export async function knownImage(cacheDirectory: string, reference: string): Promise<KnownImage | null> {
  const known = await readNote(noteOf(cacheDirectory, reference))
  return known?.reference === reference ? known : null
}

/** Records an image that was just built or pulled; the record is on the disk when the call returns. */
export async function noteImage(cacheDirectory: string, image: KnownImage): Promise<void> {
  await writeFileAtomically(noteOf(cacheDirectory, image.reference), JSON.stringify(image))
}

/** All images recorded here. */
export async function knownImages(cacheDirectory: string): Promise<readonly KnownImage[]> {
  const names = await namesIn(join(cacheDirectory, 'known'))
  const notes = names
    .filter((name) => name.endsWith('.json'))
    .map(async (name) => readNote(join(cacheDirectory, 'known', name)))
  return (await Promise.all(notes)).filter((note) => note !== null)
}

/** Returns when the image was built or pulled, in milliseconds since 1970; null if the image has no record. */
export async function knownSince(cacheDirectory: string, { reference }: KnownImage): Promise<number | null> {
  const found = await stat(noteOf(cacheDirectory, reference)).catch(() => null)
  return found?.mtimeMs ?? null
}

/** Deletes the record of an image that the engine no longer has. */
export async function forgetImage(
  cacheDirectory: string,
  { reference }: Pick<KnownImage, 'reference'>,
): Promise<void> {
  await rm(noteOf(cacheDirectory, reference), { force: true })
}

async function readNote(path: string): Promise<KnownImage | null> {
  const text = await readTextFile(path)
  if (text === null) return null
  try {
    return knownSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Returns the id of the image that the engine has under a name or id; null if the engine lacks the image. */
export async function imageId(engine: Engine, reference: string): Promise<string | null> {
  return (await inspectImage(engine, reference))?.Id ?? null
}

/** Returns the id of the recorded image, whatever has its name; null without a record or if the engine lacks it. */
export async function heldById(
  engine: Engine,
  cacheDirectory: string,
  reference: string,
): Promise<string | null> {
  const known = await knownImage(cacheDirectory, reference)
  return known === null ? null : imageId(engine, known.id)
}

const inspectSchema = z.looseObject({ Id: z.string(), RepoDigests: z.array(z.string()).nullish() })

export async function inspectImage(engine: Engine, reference: string) {
  try {
    return inspectSchema.parse(await engine.docker.getImage(reference).inspect())
  } catch (error) {
    if (isStatus(error, 404)) return null
    throw error
  }
}

function noteOf(cacheDirectory: string, reference: string): string {
  const name = createHash('sha256').update(reference).digest('hex').slice(0, 32)
  return join(cacheDirectory, 'known', `${name}.json`)
}
