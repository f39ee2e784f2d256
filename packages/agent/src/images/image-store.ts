import { createHash } from 'node:crypto'
import { promises } from 'node:fs'
import { join } from 'node:path'
import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ShownPicture } from '@flotilla/protocol/shown-picture'
import { stateFolder } from '../door-token.ts'
import { readPlainFile, writeAtomically } from '../files/atomic-file.ts'
import { forgetOldest } from '../files/forget-oldest.ts'
import type { ImageRef } from '../llm/language-model.ts'
import type { ToolImage } from '../tools/tool.ts'
import { imageMaxBytes, imageTypeOf } from '@flotilla/protocol/image-type'

/** Number of stored pictures. A conversation refers to few of them, and a missing one is described in text. */
const keptMax = 64

/**
 * Stores the pictures of results while conversations refer to them. A conversation is written to disk at
 * every step, and megabytes must not be written with it each time.
 */
export interface ImageStore {
  /** Stores a picture. Resolves to null for data that is no picture or is too large. */
  keep(image: ToolImage): Promise<ImageRef | null>
  /** Returns the picture as base64; null when the file is missing or was changed. */
  load(ref: ImageRef): Promise<string | null>
  /** Returns the bytes with that hash; null when the file is missing or was changed. */
  find(sha256: string): Promise<Uint8Array | null>
}

const namePattern = /^[0-9a-f]{64}$/

export function createImageStore(dataDirectory: string): ImageStore {
  const folder = join(dataDirectory, stateFolder, 'images')

  async function find(sha256: string): Promise<Buffer | null> {
    if (!namePattern.test(sha256)) return null
    const path = join(folder, sha256)
    const found = await promises.stat(path).catch(() => null)
    if (!found?.isFile() || found.size > imageMaxBytes) return null
    // Programs in the container can write here, so the hash is checked.
    const bytes = await readPlainFile(path).catch(() => null)
    return bytes && hashOf(bytes) === sha256 && imageTypeOf(bytes) !== null ? bytes : null
  }

  return {
    find,
    keep: async (image) => {
      if (image.base64.length > Math.ceil(imageMaxBytes / 3) * 4) return null
      const bytes = Buffer.from(image.base64, 'base64')
      const mediaType = imageTypeOf(bytes)
      if (mediaType === null || bytes.length > imageMaxBytes) return null
      const sha256 = hashOf(bytes)
      await promises.mkdir(folder, { recursive: true, mode: 0o700 })
      await forgetOldest(folder, await promises.readdir(folder), keptMax - 1)
      await writeAtomically(join(folder, sha256), bytes)
      return { mediaType, sha256, sizeBytes: bytes.length }
    },
    load: async ({ sha256, sizeBytes, mediaType }) => {
      const bytes = await find(sha256)
      if (!bytes || bytes.length !== sizeBytes || imageTypeOf(bytes) !== mediaType) return null
      return bytes.toString('base64')
    },
  }
}

/** Moves pictures to the store; a picture that is invalid or does not fit is described in text. */
export async function keepImages(
  store: ImageStore | undefined,
  result: { readonly output: PromptText; readonly images: readonly ToolImage[] },
): Promise<{ readonly output: PromptText; readonly images: readonly ImageRef[] }> {
  if (result.images.length === 0) return { output: result.output, images: [] }
  const kept: ImageRef[] = []
  for (const image of result.images) {
    const ref = await store?.keep(image).catch(() => null)
    if (ref) kept.push(ref)
  }
  const lost = result.images.length - kept.length
  if (lost === 0) return { output: result.output, images: kept }
  const note = sanitizeForPrompt(
    `[${lost} of ${result.images.length} pictures cannot be shown: the file is not a PNG, JPEG, GIF or WebP of at most 1 MB, or there is no space to store it.]`,
  )
  return { output: joinPromptText([result.output, note], '\n'), images: kept }
}

/** The description of a picture for people. Pure. */
export function shownPicture({ sha256, mediaType, sizeBytes }: ImageRef): ShownPicture {
  return { sha256, media_type: mediaType, size_bytes: sizeBytes }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
