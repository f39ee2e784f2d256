import { promises } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './walk-path.ts'

/** Temporary file, fsync, rename: after a crash the old content or the new is there, never a half. */
export async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  await promises.mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.next`
  try {
    const handle = await promises.open(temporary, 'w', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await promises.rename(temporary, path)
  } catch (error) {
    // A half that was written takes room, which may be what is missing.
    await removeFile(temporary).catch(() => undefined)
    throw error
  }
}

/** The file as one JSON value; null when it is missing, `undefined` when it is not JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await promises.readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export async function removeFile(path: string): Promise<void> {
  await promises.unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
}
