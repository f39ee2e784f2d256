import { guardedNode } from '../hardening/container-options.ts'
import type { BuildContainer } from './build-container.ts'

/**
 * Prints the free inodes and the free bytes of the disk of a folder each second. It runs in the container of the
 * downloads, in which no program of a package ever runs, so none can change what it reports.
 */
const reporter = `
const { statfsSync } = require('node:fs')
const report = () => {
  const { files, ffree, bfree, bsize } = statfsSync(process.argv[1])
  console.log((files === 0 ? 'none' : ffree) + ' ' + bfree * bsize)
}
report()
setInterval(report, 1000)
`
const reported = /^(none|\d{1,15}) (\d{1,16})$/

export interface DiskWatch {
  /** Returns which limit was exceeded as the end of a sentence about the packages; null if none was. */
  whyFull(): string | null
  /** Ends the watch. Idempotent. */
  end(): void
}

/**
 * Calls `end` once the engine's disk has lost more than `maxFiles` free inodes or more than `maxBytes` free bytes since
 * the watch began. Engines do not count the files of a container, files without content take no bytes, and volumes have
 * no limit. Other programs of the machine count too, so the limits are far above what a build needs. File systems that
 * create inodes as needed report none, and only their bytes are watched.
 */
export async function watchDisk(
  trusted: Pick<BuildContainer, 'follow'>,
  of: {
    /** A folder of the container on the disk. */
    readonly folder: '/' | '/fetch'
    readonly maxFiles: number
    readonly maxBytes: number
    readonly end: () => Promise<void>
  },
): Promise<DiskWatch> {
  let first: { readonly files: number; readonly bytes: number } | null = null
  let why: string | null = null
  let isOver = false
  await trusted.follow({ command: [...guardedNode, '-e', reporter, of.folder] }, (line) => {
    const [, freeFiles = '', freeBytes = ''] = reported.exec(line) ?? []
    if (isOver || freeBytes === '') return
    const free = { files: freeFiles === 'none' ? 0 : Number(freeFiles), bytes: Number(freeBytes) }
    first ??= free
    if (first.files - free.files > of.maxFiles) why = `make more than ${of.maxFiles} files`
    else if (first.bytes - free.bytes > of.maxBytes)
      why = `take more than ${Math.floor(of.maxBytes / 1024 ** 2)} MB of disk space`
    if (why === null) return
    isOver = true
    // If the removal fails, the owner of the container removes it again.
    of.end().catch(() => undefined)
  })
  return {
    whyFull: () => why,
    end: () => {
      isOver = true
    },
  }
}
