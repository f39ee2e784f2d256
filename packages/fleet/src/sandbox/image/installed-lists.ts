import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { readJsonDocument, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { InstalledPackage } from '../package-images.ts'

const listSchema = z.array(
  z.object({ kind: z.enum(['apt', 'npm', 'pip']), name: z.string(), version: z.string() }),
)

/** Records the packages of an image that was just built, for homes that use the image later without a build. */
export async function noteInstalled(
  cacheDirectory: string,
  image: string,
  installed: readonly InstalledPackage[],
): Promise<void> {
  await writeFileAtomically(noteOf(cacheDirectory, image), JSON.stringify(listSchema.parse(installed)))
}

/** Returns the recorded packages of an image; null if there is no valid record. */
export async function installedIn(
  cacheDirectory: string,
  image: string,
): Promise<readonly InstalledPackage[] | null> {
  const text = await readTextFile(noteOf(cacheDirectory, image))
  if (text === null) return null
  const reading = readJsonDocument(text, listSchema)
  return reading.ok ? reading.document.value : null
}

/** Deletes the record of an image that was removed. */
export async function forgetInstalled(cacheDirectory: string, image: string): Promise<void> {
  await rm(noteOf(cacheDirectory, image), { force: true })
}

function noteOf(cacheDirectory: string, image: string): string {
  const name = createHash('sha256').update(image).digest('hex').slice(0, 32)
  return join(cacheDirectory, 'installed', `${name}.json`)
}
