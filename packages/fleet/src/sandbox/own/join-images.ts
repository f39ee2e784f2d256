import { readTarPieces } from '../read-tar.ts'
import type { TarPiece } from '../read-tar.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { tarArchive, tarFile, withoutRights } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'
import { isKeptOfOwn, isOfAgentImage, misleads } from './own-places.ts'

/** The maximum number of files, folders and links of an image of the owner. */
const filesMax = 1_000_000
/** The maximum size of `/etc/passwd` and `/etc/group`, in bytes. */
const accountsMaxBytes = 1024 * 1024
/** The maximum length of the path of a file: that of the kernel. */
const pathMaxChars = 4096
/** The maximum length of the paths of all files that are left out, in characters. They are kept in memory. */
const droppedMaxChars = 64 * 1024 * 1024

/** The files that name users and groups, and the lines for the agent's user. */
const accounts: Readonly<Record<string, string>> = {
  'etc/passwd': `agent:x:${sandboxHardening.uid}:${sandboxHardening.uid}::/data:/bin/sh`,
  'etc/group': `agent:x:${sandboxHardening.uid}:`,
}

/**
 * Joins the files of two images into one archive: all files of the owner's image but those in places of the agent, and the
 * agent's own. No program of the owner's image runs for that. Files lose the bits and capabilities by which they run as
 * another user. Throws what `refuse` returns for an image that cannot be joined.
 */
export async function* joinImages(of: {
  readonly own: AsyncIterable<Uint8Array>
  readonly agent: AsyncIterable<Uint8Array>
  readonly maxBytes: number
  /** Makes the error of a sentence without its subject, such as "has a link". */
  readonly refuse: (reason: string) => Error
}): AsyncGenerator<Uint8Array> {
  const { refuse } = of
  try {
    yield* keptOfOwn(of)
  } catch (error) {
    // Everything that the archive or a file of it exceeds.
    if (error instanceof RangeError) throw refuse(`cannot be read: ${error.message}`)
    throw error
  }
  for await (const entry of readTarPieces(of.agent)) if (isOfAgentImage(entry.path)) yield* copied(entry)
  yield* tarArchive([])
}

async function* keptOfOwn({
  own,
  maxBytes,
  refuse,
}: Pick<Parameters<typeof joinImages>[0], 'own' | 'maxBytes' | 'refuse'>): AsyncGenerator<Uint8Array> {
  const dropped = new Set<string>()
  const total = { files: 0, bytes: 0, droppedChars: 0 }
  for await (const entry of readTarPieces(own)) {
    const { path, type, size, target, head } = entry
    total.files += 1
    total.bytes += head.length + size
    if (total.files > filesMax) throw refuse(`has more than ${filesMax} files`)
    if (total.bytes > maxBytes) throw refuse(`has more than ${maxBytes / 1024 ** 3} GB of files`)
    if (path.length > pathMaxChars || target.length > pathMaxChars)
      throw refuse(`has a path of more than ${pathMaxChars} characters, /${path.slice(0, 100)}…`)
    if (misleads(entry)) throw refuse(`has something else in place of the folder /${path}`)
    const isKept = isKeptOfOwn(entry) && !(type === '1' && dropped.has(cleanTarget(target)))
    if (isKept) yield* copied(entry)
    else {
      total.droppedChars += path.length
      if (total.droppedChars > droppedMaxChars)
        throw refuse(`has more files below /dev, /proc, /sys, /tmp and /data than can be left out`)
      dropped.add(path)
    }
  }
}

async function* copied(entry: TarPiece): AsyncGenerator<Uint8Array> {
  const { path, type, mode, head } = entry
  const line = accounts[path]
  if (line !== undefined && type === '0') return yield* withAccount(entry, line)
  yield type === '0' || type === '1' ? withoutRights(head, mode) : head
  yield* entry.body()
}

/** Adds the agent's user, so that programs that look up their user find one. */
async function* withAccount(entry: TarPiece, line: string): AsyncGenerator<Uint8Array> {
  const text = (await entry.content(accountsMaxBytes)).toString('latin1')
  const isNamed = text.split('\n').some((other) => other.split(':')[2] === `${sandboxHardening.uid}`)
  const lines = isNamed ? text : `${text.replace(/\n*$/, '\n')}${line}\n`
  const file: TarEntry = tarFile(entry.path, Buffer.from(lines, 'latin1'), { uid: 0, mode: 0o644 })
  yield* withoutEnd(tarArchive([file]))
}

/** Leaves out the two empty blocks with which an archive ends. */
async function* withoutEnd(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array | null = null
  for await (const piece of archive) {
    if (held !== null) yield held
    held = piece
  }
}

function cleanTarget(target: string): string {
  return target.replace(/^(?:\.?\/)+/, '')
}
