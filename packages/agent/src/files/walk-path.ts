import { constants, promises } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { refusal } from './data-path.ts'

/** An open directory below the root, and a name in it that was not a link when it was checked. */
export interface Place {
  readonly directory: FileHandle
  /** `.` when the place is the directory itself. */
  readonly name: string
  /** The path below the root after following every link; empty for the root. */
  readonly relativePath: string
}

/** Maximum number of links to follow, as in the kernel. */
const linksMax = 40
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * The third path check: a walk segment by segment on open directories. Each step is relative to the open
 * directory and does not follow links. Links are read and resolved here, and one that leads out of the root
 * is rejected. A link swapped in between check and step makes the step fail, so renaming a parent can never
 * redirect the walk. Problems `path-refused`, `not-found`.
 */
export async function withPlace<T>(
  walk: {
    root: string
    rootNames: readonly string[]
    segments: readonly string[]
    makeDirectories?: boolean
  },
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const held: { handle: FileHandle; name: string }[] = [
    { handle: await promises.open(walk.root, directoryFlags), name: '' },
  ]
  let linksLeft = linksMax
  const queue = [...walk.segments]
  const top = (): FileHandle => held.at(-1)!.handle // never empty: the root is only popped at the end
  const leave = async (): Promise<void> => {
    if (held.length === 1) throw refusal('A link on the path leads out of /data.')
    await held.pop()?.handle.close()
  }
  const place = (name: string): Place => {
    const names = [...held.slice(1).map((entry) => entry.name), ...(name === '.' ? [] : [name])]
    return { directory: top(), name, relativePath: names.join('/') }
  }
  try {
    for (;;) {
      const segment = queue.shift()
      if (segment === undefined) return await use(place('.'))
      if (segment === '..') {
        await leave()
        continue
      }
      const target = await readLink(inside(top(), segment))
      if (target !== null) {
        linksLeft -= 1
        if (linksLeft < 0) throw refusal('The symbolic links on the path form a loop.')
        if (target.startsWith('/')) while (held.length > 1) await leave()
        queue.unshift(...linkSegments(target, walk.rootNames))
        continue
      }
      if (queue.length === 0) return await use(place(segment))
      const handle = await enter(top(), segment, walk.makeDirectories === true)
      held.push({ handle, name: segment })
    }
  } finally {
    for (const entry of held.toReversed()) await entry.handle.close()
  }
}

/** Returns a name in an open directory as a path that the kernel resolves from that very directory. */
export function inside(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`
}

/** The fourth path check: the kernel's own path of an open file. Problem `path-refused`. */
export async function assertInside(root: string, file: FileHandle): Promise<void> {
  const real = await promises.readlink(`/proc/self/fd/${file.fd}`)
  if (real !== root && !real.startsWith(`${root}/`)) throw refusal('The path leads out of /data.')
}

async function enter(directory: FileHandle, name: string, make: boolean): Promise<FileHandle> {
  if (make) await promises.mkdir(inside(directory, name)).catch(unlessCode('EEXIST'))
  try {
    return await promises.open(inside(directory, name), directoryFlags)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT')
      throw new Problem('not-found', { detail: `${name} does not exist.`, cause })
    if (codeOf(cause) === 'ENOTDIR') throw refusal(`${name} is not a directory.`)
    throw cause
  }
}

async function readLink(path: string): Promise<string | null> {
  const found = await promises.lstat(path).catch(unlessCode('ENOENT'))
  // The name is no longer a link: the file that replaced the link is opened without following links.
  return found?.isSymbolicLink() ? promises.readlink(path).catch(unlessCode('EINVAL', 'ENOENT')) : null
}

function linkSegments(target: string, rootNames: readonly string[]): string[] {
  if (!target.startsWith('/')) return realParts(target)
  const root = rootNames.find((name) => target === name || target.startsWith(`${name}/`))
  if (root === undefined) throw refusal('A link on the path leads out of /data.')
  return realParts(target.slice(root.length))
}

function realParts(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

function unlessCode(...codes: readonly string[]): (error: unknown) => null {
  return (error) => {
    if (codes.includes(codeOf(error))) return null
    throw error
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
