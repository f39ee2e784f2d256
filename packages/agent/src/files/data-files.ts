import { constants, realpathSync, promises } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { stateFolder } from '../door-token.ts'
import { refusal, toSegments } from './data-path.ts'
import { isDiskFull } from './state-file.ts'
import { assertInside, codeOf, inside, withPlace } from './walk-path.ts'
import type { Place } from './walk-path.ts'
import { appendToFile, replaceFile } from './write-file.ts'
import type { Content } from './write-file.ts'

export interface FileEntry {
  /** The path relative to the directory that was listed. */
  readonly path: string
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly sizeBytes: number
}

/**
 * Files below the data directory, for tools and APIs alike. Every path passes the four checks; the agent's own
 * state cannot be reached. Problems: `path-refused`, `not-found`, `body-too-large`, `unprocessable` with the reason.
 */
export interface DataFiles {
  /** Opens a plain file; the caller closes it. */
  openFile(path: string): Promise<{ handle: FileHandle; sizeBytes: number }>
  read(path: string, maxBytes: number): Promise<Buffer>
  /** Replaces the file atomically, or appends. Missing directories are created. Resolves to the size in bytes. */
  write(path: string, content: Content, options?: WriteOptions): Promise<number>
  list(path: string, options: { recursive: boolean; entriesMax: number }): Promise<readonly FileEntry[]>
  /** Deletes a file, or the link with that name; never a directory. */
  remove(path: string): Promise<void>
  /** Returns the directory's path as programs see it, after following all links. */
  directory(path: string): Promise<string>
}

export interface WriteOptions {
  readonly append?: boolean
  readonly maxBytes?: number
  /** True to sync the content to disk before the rename, so that it also survives a power loss. */
  readonly durable?: boolean
  /** Gets the path below the data directory after following links; returns why the file must stay, or null. */
  readonly refuse?: (relativePath: string) => string | null
}

export function createDataFiles(dataDirectory: string): DataFiles {
  const root = realpathSync(dataDirectory)
  const rootNames = [...new Set([root, dataDirectory, '/data'])]
  let parts = 0

  const at = async <T>(
    path: string,
    makeDirectories: boolean,
    use: (place: Place) => Promise<T>,
  ): Promise<T> => {
    const segments = toSegments(path, dataDirectory)
    try {
      return await withPlace({ root, rootNames, segments, makeDirectories }, (place) => {
        if (place.relativePath.split('/')[0] === stateFolder)
          throw refusal('An agent may not read or write this folder.')
        return use(place)
      })
    } catch (error) {
      throw asProblem(error)
    }
  }
  const openFile = async (path: string): Promise<{ handle: FileHandle; sizeBytes: number }> =>
    at(path, false, async (place) => {
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
      const handle = await promises.open(inside(place.directory, place.name), flags)
      try {
        await assertInside(root, handle)
        const found = await handle.stat()
        if (!found.isFile()) throw new Problem('unprocessable', { detail: 'The path is not a regular file.' })
        return { handle, sizeBytes: found.size }
      } catch (error) {
        await handle.close()
        throw error
      }
    })
  return {
    openFile,
    read: async (path, maxBytes) => {
      const { handle, sizeBytes } = await openFile(path)
      try {
        if (sizeBytes > maxBytes) {
          throw new Problem('body-too-large', {
            detail: `The file has ${sizeBytes} bytes; at most ${maxBytes} are read.`,
          })
        }
        return await handle.readFile()
      } finally {
        await handle.close()
      }
    },
    write: async (path, content, options = {}) =>
      at(path, true, async (place) => {
        const reason = options.refuse?.(place.relativePath) ?? null
        if (reason !== null) throw refusal(reason)
        if (place.name === '.')
          throw new Problem('unprocessable', { detail: 'The path is a directory, not a file.' })
        if (options.append === true) return appendToFile(root, place, content)
        parts += 1
        return replaceFile({
          root,
          place,
          content,
          part: `.part-${process.pid}-${parts}`,
          maxBytes: options.maxBytes,
          durable: options.durable === true,
        })
      }),
    list: async (path, options) =>
      at(path, false, async (place) => {
        const entries: FileEntry[] = []
        await listInto(entries, { root, directory: place.directory, name: place.name, prefix: '' }, options)
        return entries.filter((entry) => place.relativePath !== '' || !isState(entry.path))
      }),
    remove: async (path) =>
      at(path, false, async (place) => {
        await assertInside(root, place.directory)
        await promises.unlink(inside(place.directory, place.name))
      }),
    directory: async (path) =>
      at(path, false, async (place) => {
        const handle = await promises.open(
          inside(place.directory, place.name),
          constants.O_DIRECTORY | constants.O_NOFOLLOW,
        )
        try {
          await assertInside(root, handle)
          return place.relativePath === '' ? root : `${root}/${place.relativePath}`
        } finally {
          await handle.close()
        }
      }),
  }
}

function isState(path: string): boolean {
  return path === stateFolder || path.startsWith(`${stateFolder}/`)
}

/** Lists a folder, depth first; links are named and not followed. */
async function listInto(
  entries: FileEntry[],
  from: { root: string; directory: FileHandle; name: string; prefix: string },
  options: { recursive: boolean; entriesMax: number },
): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  const here = await promises.open(inside(from.directory, from.name), flags)
  try {
    await assertInside(from.root, here)
    const names = (await promises.readdir(`/proc/self/fd/${here.fd}`)).sort()
    for (const name of names) {
      if (entries.length >= options.entriesMax) return
      const found = await promises.lstat(inside(here, name)).catch(() => null)
      if (!found) continue
      const path = from.prefix + name
      const kind = found.isDirectory()
        ? 'directory'
        : found.isFile()
          ? 'file'
          : found.isSymbolicLink()
            ? 'link'
            : 'other'
      entries.push({ path, kind, sizeBytes: found.size })
      if (kind === 'directory' && options.recursive && path !== stateFolder) {
        await listInto(entries, { root: from.root, directory: here, name, prefix: `${path}/` }, options)
      }
    }
  } finally {
    await here.close()
  }
}

function asProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const reasons: Readonly<Record<string, string>> = {
    ENOTDIR: 'A part of the path is not a directory.',
    EISDIR: 'The path is a directory, not a file.',
    EACCES: 'The file system does not allow it.',
    EPERM: 'The file system does not allow it.',
    EROFS: 'The file system is read-only.',
    ENAMETOOLONG: 'A name on the path is too long.',
    ENXIO: 'The path is not a regular file.',
  }
  const code = codeOf(error)
  if (isDiskFull(error))
    return new Problem('data-full', { detail: 'No space left below /data.', cause: error })
  if (code === 'ENOENT')
    return new Problem('not-found', {
      detail: 'No file exists at this path.',
      repair: 'List the folder above it to see what exists.',
      cause: error,
    })
  if (code === 'ELOOP') return refusal('A symbolic link was created on the path during the call.')
  const reason = reasons[code]
  return reason === undefined ? error : new Problem('unprocessable', { detail: reason, cause: error })
}
