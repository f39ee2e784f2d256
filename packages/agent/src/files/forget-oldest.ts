import { promises } from 'node:fs'
import { join } from 'node:path'
import { removeFile } from './atomic-file.ts'

/** Deletes the files beyond the bound, oldest write first. */
export async function forgetOldest(folder: string, names: readonly string[], keep: number): Promise<void> {
  if (names.length <= keep) return
  const aged = await Promise.all(
    names.map(async (name) => {
      const found = await promises.stat(join(folder, name)).catch(() => null)
      return { name, at: found?.mtimeMs ?? 0 }
    }),
  )
  const oldest = aged.sort((a, b) => a.at - b.at).slice(0, names.length - keep)
  for (const { name } of oldest) await removeFile(join(folder, name))
}
