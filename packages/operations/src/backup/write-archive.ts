import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { namingDisk, requireFree } from './full-disk.ts'

/** The free space of the target is checked after this many bytes. */
const lookEveryBytes = 16 * 1024 * 1024

export interface ArchiveTarget {
  /** The path of the file, which must not exist yet. The file is removed if writing fails. */
  readonly path: string
  /** Bytes that stay free on the target's disk: a mesh on the same disk refuses work below this. */
  readonly keepFreeBytes: number
  readonly signal: AbortSignal
}

/**
 * Writes an archive and syncs it to the disk. Throws the Problem `disk-full`, which names the target's disk, as soon
 * as it finds less than `keepFreeBytes` free there.
 */
export async function writeArchive(archive: AsyncIterable<Buffer>, target: ArchiveTarget): Promise<void> {
  const { path, keepFreeBytes, signal } = target
  const disk = { folder: dirname(path), repair: targetRepair }
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      let written = 0
      let looked = 0
      const write = async (piece: Buffer): Promise<void> => {
        await file.writeFile(piece)
        written += piece.length
        if (written - looked < lookEveryBytes) return
        looked = written
        await requireFree(keepFreeBytes, disk)
      }
      const sink = new Writable({
        write: (piece: Buffer, _encoding, done) =>
          void write(piece).then(
            () => done(),
            async (error: unknown) => done((await namingDisk(error, disk)) as Error),
          ),
      })
      await pipeline(Readable.from(archive), sink, { signal })
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    // On a disk that became read-only the file cannot be removed; the reason is the error that came first.
    await rm(path, { force: true }).catch(() => {})
    throw await namingDisk(error, disk)
  }
}

export const targetRepair =
  'Free space on that disk, write the backup to another disk, or leave an agent out with --without AGENT; the incomplete file was removed.'
