import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { countBytes } from './count-bytes.ts'
import type { UnusedThing } from './unused-thing.ts'

const dayMs = 24 * 3_600_000
/** Compiled code of programs that were not started for this time; Node can compile it again. */
const compiledMaxMs = 7 * dayMs
/** Age in milliseconds above which a part in `images` is unused; the mesh builds a part in less time. */
const partMaxMs = dayMs

export interface CachesAt {
  /** Folder in which Node caches compiled code: one subfolder for each build. */
  readonly compiled: string
  /** Bundles and parts of images. */
  readonly images: string
  /** Names in `images` that this release uses and that stay. */
  readonly partsInUse: readonly string[]
  readonly now: number
}

/** Caches of this user's programs that no current program uses. All of them are created again when needed. */
export async function unusedCaches(at: CachesAt): Promise<readonly UnusedThing[]> {
  const found: UnusedThing[] = []
  const add = async (path: string, ageMs: number, why: string) => {
    const counted = await countBytes(path)
    if (counted === null || at.now - counted.changedMs < ageMs) return
    const remove = async () => {
      await rm(path, { recursive: true, force: true })
      return true
    }
    found.push({ kind: 'cache', name: path, why, bytes: counted.bytes, remove })
  }
  for (const name of await namesIn(at.compiled))
    await add(
      join(at.compiled, name),
      compiledMaxMs,
      'it belongs to a program that was not changed for a week',
    )
  const bundles = await bundlesInUse(at.images)
  for (const name of await namesIn(at.images)) {
    const isOld = (partNames.test(name) && !at.partsInUse.includes(name)) || unfinishedName.test(name)
    if (isOld) await add(join(at.images, name), partMaxMs, 'another release created it')
    else if (bundleName.test(name) && !bundles.has(name))
      await add(join(at.images, name), partMaxMs, 'it belongs to agents of an earlier release')
  }
  return found
}

const partNames = /^(?:node-[\d.]+-stripped|npm-[\d.]+\.tgz)$/
const bundleName = /^agent-[\da-f]{16}$/
/** Temporary files of a process that no longer exists. */
const unfinishedName = /^(?:base-\d+|agent-new-\d+|pack-[a-z-]+-\d+|.+\.\d{3,})$/

/** Names of the bundles that each checkout on this machine built last. */
async function bundlesInUse(folder: string): Promise<ReadonlySet<string>> {
  const used = new Set<string>()
  for (const name of (await namesIn(folder)).filter((one) => /^bundle-[\da-f]+\.json$/.test(one))) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '')
    const [, hash = ''] = /"bundleHash":"([\da-f]+)"/.exec(text) ?? []
    used.add(`agent-${hash.slice(0, 16)}`)
  }
  return used
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(() => [])).map((name) => basename(name))
}
