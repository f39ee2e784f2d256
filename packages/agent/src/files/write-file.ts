import { constants, promises } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { assertInside, inside } from './walk-path.ts'
import type { Place } from './walk-path.ts'

export type Content = AsyncIterable<Uint8Array> | Uint8Array

export async function appendToFile(root: string, place: Place, content: Content): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
  const handle = await promises.open(inside(place.directory, place.name), flags | constants.O_NONBLOCK, 0o644)
  try {
    await assertInside(root, handle)
    if (!(await handle.stat()).isFile())
      throw new Problem('unprocessable', { detail: 'That is not a plain file.' })
    await writeAll(handle, content, Infinity)
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

/** Writes a temporary file in the same folder and renames it, so that readers see the old file or the new one. */
export async function replaceFile(job: {
  root: string
  place: Place
  content: Content
  part: string
  maxBytes: number | undefined
  durable: boolean
}): Promise<number> {
  const { place } = job
  const target = inside(place.directory, place.name)
  const part = inside(place.directory, job.part)
  const before = await promises.lstat(target).catch(() => null)
  if (before?.isDirectory()) throw new Problem('unprocessable', { detail: 'That is a directory.' })
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await promises.open(part, flags, 0o644)
  try {
    await assertInside(job.root, handle)
    const size = await writeAll(handle, job.content, job.maxBytes ?? Infinity)
    if (job.durable) await handle.sync()
    if (before?.isFile()) await promises.chmod(part, before.mode & 0o777)
    await promises.rename(part, target)
    return size
  } catch (error) {
    await promises.unlink(part).catch(() => undefined)
    throw error
  } finally {
    await handle.close()
  }
}

async function writeAll(handle: FileHandle, content: Content, maxBytes: number): Promise<number> {
  let size = 0
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    size += chunk.length
    if (size > maxBytes)
      throw new Problem('body-too-large', { detail: `The file may have at most ${maxBytes} bytes.` })
    await handle.writeFile(chunk)
  }
  return size
}
