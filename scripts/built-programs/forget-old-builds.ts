import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buildNames } from '@flotilla/protocol/built-program'

/** A running program may load a part later, so the folders of the last builds stay. */
const buildsKept = 5
const hourMs = 3_600_000
/** How long Node's compile cache of an unknown build stays; the build may belong to another checkout. */
const compiledMaxMs = 7 * 24 * hourMs
const anyName = buildNames.join('|')
const buildName = new RegExp(`^(?:${anyName})-[\\da-f]{16}$`)
/** Names of files that an interrupted build left. */
const brokenOffName = new RegExp(`^(?:(?:${anyName})-[\\da-f]{16}|(?:${anyName})\\.json)\\.\\d+$`)

/**
 * Removes all builds but the last ones, the remains of interrupted builds, and the compile caches of old builds.
 */
export function forgetOldBuilds(
  folder: string,
  { compiled, nowMs }: { readonly compiled: string; readonly nowMs: number },
): void {
  for (const name of buildNames) {
    const builds = entriesOf(folder, buildName).filter((entry) => entry.name.startsWith(`${name}-`))
    const byAge = builds.toSorted((left, right) => right.modifiedMs - left.modifiedMs)
    for (const { path } of byAge.slice(buildsKept)) rmSync(path, { recursive: true, force: true })
  }
  for (const { path, modifiedMs } of entriesOf(folder, brokenOffName)) {
    if (nowMs - modifiedMs > hourMs) rmSync(path, { recursive: true, force: true })
  }
  const kept = new Set(entriesOf(folder, buildName).map(({ name }) => name))
  for (const { name, path, modifiedMs } of entriesOf(compiled, buildName)) {
    if (!kept.has(name) && nowMs - modifiedMs > compiledMaxMs) rmSync(path, { recursive: true, force: true })
  }
}

function entriesOf(folder: string, pattern: RegExp) {
  return namesIn(folder)
    .filter((name) => pattern.test(name))
    .flatMap((name) => {
      const path = join(folder, name)
      // A concurrent build may have deleted it.
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? [{ name, path, modifiedMs: found.mtimeMs }] : []
    })
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
