import { execFileSync } from 'node:child_process'
import { closeSync, openSync, statfsSync, writeSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { onTestFinished } from 'vitest'

const mb = 1024 * 1024

/** A separate file system that a test fills and empties. Only root can mount one. */
export interface SmallDisk {
  readonly folder: string
  freeBytes(): number
  /** Fills the disk until this many bytes are free; 0 fills it completely. */
  fill(leaveBytes?: number): void
  /** Makes empty files until no inode is left. */
  fillInodes(): Promise<void>
  /** Deletes the files that filled the disk. */
  drain(): Promise<void>
  unmount(): void
}

export const canMount = process.getuid?.() === 0

/** Mounts a file system in memory of this size, with a limit of inodes if one is given. */
export async function mountSmallDisk(options: {
  readonly sizeMb: number
  readonly inodes?: number
}): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-disk-'))
  return mountAt(folder, options)
}

/** Mounts the same; it is unmounted when the test ends, after clean-ups that the test registers later. */
export async function smallDiskForTest(options: {
  readonly sizeMb: number
  readonly inodes?: number
}): Promise<SmallDisk> {
  const disk = await mountSmallDisk(options)
  onTestFinished(async () => {
    disk.unmount()
    await rm(disk.folder, { recursive: true, force: true })
  })
  return disk
}

/** Mounts the file system over an existing folder. */
export function mountAt(
  folder: string,
  { sizeMb, inodes }: { readonly sizeMb: number; readonly inodes?: number },
): SmallDisk {
  const limit = inodes === undefined ? '' : `,nr_inodes=${inodes}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=700${limit}`, 'tmpfs', folder])
  const filler = join(folder, 'filler')
  const fillers = join(folder, 'fillers')
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  }
  return {
    folder,
    freeBytes,
    fill(leaveBytes = 0) {
      const file = openSync(filler, 'a')
      try {
        for (let pieceBytes = mb; pieceBytes >= 4096;) {
          try {
            if (freeBytes() - pieceBytes < leaveBytes) pieceBytes /= 2
            else writeSync(file, Buffer.alloc(pieceBytes))
          } catch {
            pieceBytes /= 2
          }
        }
      } finally {
        closeSync(file)
      }
    },
    async fillInodes() {
      await mkdir(fillers, { recursive: true })
      for (let number = 0; ; number++) {
        try {
          await writeFile(join(fillers, `${number}`), '')
        } catch {
          return
        }
      }
    },
    async drain() {
      await rm(filler, { force: true })
      await rm(fillers, { recursive: true, force: true })
    },
    unmount: () => void execFileSync('umount', ['--lazy', folder]),
  }
}
