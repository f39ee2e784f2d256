import { createTurns } from '@flotilla/protocol/turns'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Identifies a version of a file by its inode data: equal stamps mean equal contents. */
export interface FileStamp {
  readonly modifiedMs: number
  readonly sizeBytes: number
  readonly inode: number
  readonly mode: number
}

/** Returns the new text, or null to leave the file unchanged. */
export type TextEdit = (current: string | null) => string | null | Promise<string | null>

/** How often an edit restarts because another process wrote the file in the meantime. */
const editAttemptsMax = 5

/** The text of a file, or null if it does not exist. */
export async function readTextFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Returns the names in a folder; empty if the folder does not exist. Rejects if the folder cannot be read. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
}

export async function stampOf(path: string): Promise<FileStamp | null> {
  try {
    const found = await stat(path)
    return {
      modifiedMs: found.mtimeMs,
      sizeBytes: found.size,
      inode: found.ino,
      mode: found.mode & 0o777,
    }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export function sameStamp(left: FileStamp | null, right: FileStamp | null): boolean {
  if (left === null || right === null) return left === right
  return (
    left.modifiedMs === right.modifiedMs && left.sizeBytes === right.sizeBytes && left.inode === right.inode
  )
}

export async function setFileMode(path: string, mode: number): Promise<void> {
  await chmod(path, mode)
}

/** A text in a temporary file on the disk, which does not yet replace its target file. */
export interface StagedText {
  /** Replaces the file; the replacement survives a power cut. */
  place(): Promise<void>
  discard(): Promise<void>
}

/**
 * Replaces a file so that a reader, or a crash at any point, sees the old text or the new and nothing between:
 * temporary file in the same folder, fsync, rename, fsync of the folder. A link is followed, not replaced.
 */
export async function writeFileAtomically(path: string, text: string, mode = 0o600): Promise<void> {
  const staged = await stageText(path, text, mode)
  await staged.place()
}

/**
 * Writes a text to a temporary file, the first half of `writeFileAtomically`, for files that must change together. A
 * full disk makes this call fail; the later `place` only renames the file and needs no more room.
 */
export async function stageText(path: string, text: string, mode: number): Promise<StagedText> {
  const target = await realPathOf(path)
  const folder = dirname(target)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `.${basename(target)}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`)
  const discard = () => rm(temporary, { force: true })
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      // The process's umask may have removed bits of the mode given to `open`.
      await file.chmod(mode)
      await file.writeFile(text, 'utf8')
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    await quietly(discard)
    throw error
  }
  return {
    discard,
    place: async () => {
      try {
        await rename(temporary, target)
      } catch (error) {
        await quietly(discard)
        throw error
      }
      await syncFolder(folder)
    },
  }
}

/**
 * Renames a temporary file that another program has written to its final name, under which later starts trust it.
 * Syncs the file before, because a power cut could otherwise leave an empty file under the final name.
 */
export async function moveIntoPlace(temporary: string, target: string): Promise<void> {
  const file = await open(temporary, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, target)
  await syncFolder(dirname(target))
}

/** Ignores errors of `discard`: callers need the first error, and a failing disk may also refuse this deletion. */
async function quietly(discard: () => Promise<void>): Promise<void> {
  await discard().catch(() => undefined)
}

export interface FileEditor {
  /**
   * Reads the file, calls `edit`, writes the result. Edits of one path run one after the other, so that none is lost.
   * Repeats if another process changed the file meanwhile.
   */
  edit(path: string, edit: TextEdit, mode?: number): Promise<void>
}

/**
 * Creates the editor of the files of a home. Create one per process: its locks are in memory, and only one mesh uses
 * the home folder. `requireHome` rejects if an edit would write to another disk.
 */
export function createFileEditor(requireHome: () => Promise<void> = async () => {}): FileEditor {
  const turns = createTurns()
  return {
    edit: (path, edit, mode) =>
      turns.take([path], async () => {
        await requireHome()
        await editOnce(path, edit, mode)
      }),
  }
}

async function editOnce(path: string, edit: TextEdit, mode?: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = await stampOf(path)
    const next = await edit(await readTextFile(path))
    if (next === null) return
    if (sameStamp(before, await stampOf(path))) {
      await writeFileAtomically(path, next, mode ?? before?.mode ?? 0o600)
      return
    }
    if (attempt >= editAttemptsMax)
      throw new Error(`${basename(path)} was changed by other programs during each attempt to write it`)
  }
}

async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}

/** Makes renames in the folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
