import { guardedNode } from '../hardening/container-options.ts'
import type { BuildContainer } from './build-container.ts'

/**
 * Prints the number of free inodes of the engine's disk each second. It runs in the container of the downloads, in which
 * no program of a package ever runs, so none can change what it reports.
 */
const reporter = `
const { statfsSync } = require('node:fs')
const report = () => {
  const { files, ffree } = statfsSync('/')
  console.log(files === 0 ? 'none' : String(ffree))
}
report()
setInterval(report, 1000)
`

/**
 * Calls `end` once the engine's disk has lost more than `maxFiles` free inodes since the watch began. Engines do not count
 * the files of a container, and files without content take no bytes. Other programs of the machine count too, so the
 * limit is far above what a build needs. File systems that create inodes as needed report none, and are not watched.
 */
export async function watchInodes(
  trusted: Pick<BuildContainer, 'follow'>,
  of: { readonly maxFiles: number; readonly end: () => Promise<void> },
): Promise<{
  /** Returns whether the limit was exceeded. */
  isFull(): boolean
}> {
  let first: number | null = null
  let isFull = false
  await trusted.follow({ command: [...guardedNode, '-e', reporter] }, (line) => {
    if (!/^\d{1,15}$/.test(line)) return
    first ??= Number(line)
    if (isFull || first - Number(line) <= of.maxFiles) return
    isFull = true
    // If the removal fails, the owner of the container removes it again.
    of.end().catch(() => undefined)
  })
  return { isFull: () => isFull }
}
