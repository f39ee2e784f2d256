import { createHash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { isMissing, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from './engine-images.ts'

/**
 * Images that the mesh built or pulled itself, by reference. Any client that may load an image into the
 * engine may give it any name; its id is a hash of its content.
 */
const knownSchema = z.strictObject({
  reference: z.string(),
  id: z.string(),
  /** `name@sha256:...` in its registry; null for an image that was built here. */
  digest: z.string().nullable(),
})

export type KnownImage = z.infer<typeof knownSchema>

/**
 * What was recorded for an image; null for an unknown image or an invalid record. Rejects if the record cannot be read
 * now, because an image without its record is fetched without its digest.
 */
export async function knownImage(cacheDirectory: string, reference: string): Promise<KnownImage | null> {
  const known = await readNote(noteOf(cacheDirectory, reference))
  return known?.reference === reference ? known : null
}

/** Records an image that was just built or pulled, synced to disk before it returns. */
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

/** When it was built or pulled, in milliseconds since 1970; null if it has no record. */
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

/** The names in a folder; empty if it does not exist. Rejects if it cannot be read. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
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

/** The id of an image in the engine by name or id; null if it is missing. */
export async function imageId(engine: Engine, reference: string): Promise<string | null> {
  return (await inspectImage(engine, reference))?.Id ?? null
}

/** The id of the recorded image if the engine still has it, whatever image has its name now. */
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
