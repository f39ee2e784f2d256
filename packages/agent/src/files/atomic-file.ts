import { constants, promises } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './walk-path.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** How often the temporary file is tried again if a program in this container takes its name each time. */
const namesMax = 20
/** The maximum size in bytes, far above any conversation: a larger file cannot come from the agent. */
const stateFileMaxBytes = 32 * 1024 * 1024

/**
 * Writes a temporary file, fsyncs and renames it: after a crash either the old or the new content is there.
 * Anything that a program put in the place of the temporary file is deleted and never opened: a pipe there
 * would block this process forever.
 */
export async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  await promises.mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.next`
  const handle = await openNew(temporary)
  try {
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await promises.rename(temporary, path)
  } catch (error) {
    // The partial file is deleted, because the disk may be full.
    await removeFile(temporary).catch(() => undefined)
    throw error
  }
}

async function openNew(path: string): Promise<promises.FileHandle> {
  for (let tries = 1; ; tries++) {
    await removeFile(path)
    try {
      return await promises.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST' || tries >= namesMax) throw error
    }
  }
}

/** Returns the file as one JSON value; null when it is missing, `undefined` when it is no JSON or no plain file. */
export async function readJsonFile(path: string): Promise<unknown> {
  const bytes = await readPlainFile(path)
  if (!bytes) return bytes
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/**
 * Returns the bytes of a plain file: null when it is missing, `undefined` for a link, a pipe, a device, or a
 * file above the size limit. Never waits for a writer, and reads no more than the size at opening.
 */
export async function readPlainFile(path: string): Promise<Buffer | null | undefined> {
  let handle: promises.FileHandle
  try {
    handle = await promises.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENXIO') return undefined
    throw error
  }
  try {
    const found = await handle.stat()
    if (!found.isFile() || found.size > stateFileMaxBytes) return undefined
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(found.size), 0, found.size, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

export async function removeFile(path: string): Promise<void> {
  await promises.unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
}
