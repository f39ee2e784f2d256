import { posix } from 'node:path'
import { SandboxError } from '../sandbox-error.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { tarDirectory, tarFile, type TarEntry } from '../tar-archive.ts'

/**
 * Returns archive entries for a spec's files below `/data`: files 0600, their folders 0700, owned by the agent. Pure.
 * Throws `SandboxError` `file-path-refused` for a path that leaves `/data`.
 */
export function seedEntries(files: Readonly<Record<string, string>>): readonly TarEntry[] {
  const uid = sandboxHardening.uid
  const folders = new Set<string>()
  const entries = Object.entries(files).map(([path, text]) => {
    if (!isInside(path)) {
      throw new SandboxError(
        'file-path-refused',
        `A file for the sandbox would lie outside /data: ${path.slice(0, 200)}\nRepair: name the file relative to /data, without "..".`,
      )
    }
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder)
    return tarFile(path, Buffer.from(text, 'utf8'), { uid, mode: 0o600 })
  })
  return [...[...folders].toSorted().map((folder) => tarDirectory(folder, { uid, mode: 0o700 })), ...entries]
}

function isInside(path: string): boolean {
  return (
    path !== '' &&
    !path.endsWith('/') &&
    !posix.isAbsolute(path) &&
    posix.normalize(path) === path &&
    !path.startsWith('..')
  )
}
