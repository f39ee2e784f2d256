import { readdirSync, readFileSync } from 'node:fs'

/**
 * Whether every page process of the running Chromium is in its own sandbox, according to the kernel: its own process
 * ids, and more seccomp filters than this container has. False if there is no page process.
 */
export function isSandboxed(root = '/proc'): boolean {
  const own = filtersOf(statusOf(root, 'self'))
  const pages = readdirSync(root)
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => isPage.test(readText(`${root}/${pid}/cmdline`)))
    .map((pid) => statusOf(root, pid))
    .filter((status) => status !== '')
  return pages.length > 0 && pages.every((status) => isNested(status) && filtersOf(status) > own)
}

/** Processes that Chromium forks write their arguments with spaces between them. */
const isPage = /[\0 ]--type=renderer[\0 ]/

function statusOf(root: string, pid: string): string {
  return readText(`${root}/${pid}/status`)
}

/** True if the process has its own namespace of process ids: the kernel then lists more than one id. */
function isNested(status: string): boolean {
  return (/^NSpid:\s+(.*)$/m.exec(status)?.[1] ?? '').trim().split(/\s+/).length > 1
}

function filtersOf(status: string): number {
  return Number(/^Seccomp_filters:\s+(\d+)$/m.exec(status)?.[1] ?? 0)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process has ended meanwhile.
    return ''
  }
}
