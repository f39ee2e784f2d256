import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  openSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import process from 'node:process'
import { onTestFinished } from 'vitest'

const mb = 1024 * 1024

/** A file system of its own, which a test fills and empties. Only root can mount one. */
export interface SmallDisk {
  readonly folder: string
  freeBytes(): number
  /** Takes room until so many bytes are left; all of it when 0. */
  fill(leaveBytes?: number): void
  /** Makes empty files until no inode is left. */
  fillInodes(): Promise<void>
  /** Gives back what was taken. */
  drain(): Promise<void>
  unmount(): void
}

export const canMount = process.getuid?.() === 0

/** Mounts a file system in memory with so much room, and so many inodes where they are counted. */
export async function mountSmallDisk(options: {
  readonly sizeMb: number
  readonly inodes?: number
}): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-disk-'))
  return mountAt(folder, options)
}

/** The same, taken away when the test ends, after what the test registers later. */
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

/** Mounts it over a folder that is there. */
export function mountAt(
  folder: string,
  { sizeMb, inodes }: { readonly sizeMb: number; readonly inodes?: number },
): SmallDisk {
  const limit = inodes === undefined ? '' : `,nr_inodes=${inodes}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=700${limit}`, 'tmpfs', folder])
  return diskAt(folder)
}

/** An ext4 file system in a file of this machine. */
export interface Ext4Disk extends SmallDisk {
  /** Lets the kernel meet an error in it: it is read-only from then on, until it is repaired and mounted again. */
  breakDown(): void
  /** Unmounts it, which works only while no process has a file of it open. */
  detach(): void
  /** Repairs and mounts it. */
  repair(): void
  remove(): void
}

/** Whether this machine mounts files: as root, with loop devices and the programs of ext4. */
export const canMountExt4 =
  canMount && existsSync('/dev/loop-control') && ['/usr/sbin/mkfs.ext4', '/sbin/mkfs.ext4'].some(existsSync)

/** Mounts an ext4 file system over a folder that is there. */
export function mountExt4At(
  folder: string,
  { sizeMb, inodes }: { readonly sizeMb: number; readonly inodes?: number },
): Ext4Disk {
  const image = `${folder}.ext4`
  closeSync(openSync(image, 'w'))
  truncateSync(image, sizeMb * mb)
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', ...(inodes ? ['-N', `${inodes}`] : []), image])
  const mount = (): void =>
    void execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, folder], { stdio: 'pipe' })
  mount()
  return {
    ...diskAt(folder),
    breakDown: () => {
      // What the test itself wrote would be lost.
      execFileSync('sync', ['-f', folder])
      const device = execFileSync('findmnt', ['-no', 'SOURCE', '--mountpoint', folder], { encoding: 'utf8' })
      writeFileSync(`/sys/fs/ext4/${basename(device.trim())}/trigger_fs_error`, 'broken by a test')
    },
    detach: () => void execFileSync('umount', [folder], { stdio: 'pipe' }),
    repair: () => {
      try {
        execFileSync('e2fsck', ['-fy', image], { stdio: 'pipe' })
      } catch (error) {
        // 1: errors were corrected.
        if (Reflect.get(Object(error), 'status') !== 1) throw error
      }
      mount()
    },
    remove: () => rmSync(image, { force: true }),
  }
}

function diskAt(folder: string): SmallDisk {
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
