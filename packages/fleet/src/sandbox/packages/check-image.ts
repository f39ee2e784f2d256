import { createHash } from 'node:crypto'
import type { PackageLock } from '../package-lock.ts'
import type { TarFacts } from '../read-tar.ts'
import { SandboxError } from '../sandbox-error.ts'
import { libraryPath, type DeliveredLibraries } from './delivered-libraries.ts'
import {
  configuresNode,
  isOfAgent,
  linkedFolders,
  misledLibrary,
  ownerOfLibrary,
  ownFiles,
  ownFolders,
} from './trusted-places.ts'

/** The maximum size of a configuration file or a library that is read, in bytes. */
const readMaxBytes = 16 * 1024 * 1024
/** The maximum number of files, folders and links of an image. The agent image has about 10,000. */
export const imageFilesMax = 1_000_000
/**
 * The maximum length of the paths of all files together, in characters. The engine lists changed paths in one document
 * in memory.
 */
const imagePathsMaxChars = 96 * 1024 * 1024
const setIdBits = 0o6000

interface MadeImage {
  /** Returns the paths that differ from the agent image. Called only once the number of files is known to be bounded. */
  readonly changed: () => Promise<readonly string[]>
  /** All files of the container. */
  readonly files: AsyncIterable<TarFacts>
  readonly lock: PackageLock
  readonly delivered: DeliveredLibraries
}

/**
 * Checks the files of a stopped container from outside, because programs of packages could have changed the programs
 * inside. Rejects with `packages-refused` if packages changed what the agent's own process trusts, if a file would run
 * as another user than its caller, or if there are too many files.
 */
export async function checkImage(made: MadeImage): Promise<void> {
  try {
    await checkFiles(made)
  } catch (error) {
    // Everything that the archive or a file of it exceeds.
    if (error instanceof RangeError) throw refused(`leaves files that cannot be checked: ${error.message}`)
    throw error
  }
}

async function checkFiles(made: MadeImage): Promise<void> {
  const { lock, delivered } = made
  const places = new Map<string, Pick<TarFacts, 'type' | 'target'>>()
  const libraries = new Map<string, string>()
  const total = { files: 0, chars: 0 }
  for await (const entry of made.files) {
    const { path, type, mode, size, target } = entry
    total.files += 1
    total.chars += path.length
    if (total.files > imageFilesMax || total.chars > imagePathsMaxChars)
      throw refused(`makes more than ${imageFilesMax} files, or files with longer paths than can be checked`)
    if (checkedPlaces.has(path)) places.set(path, { type, target })
    if ((type === '0' || type === '1') && (mode & setIdBits) !== 0)
      throw refused(`leaves /${path} with the right to run as another user`)
    if (mustBeFiles.has(path) && type !== '0') throw refused(`replaces /${path} by a link`)
    if (path === 'etc/ld.so.cache' && size > 0) refuseMisled(await entry.content(readMaxBytes), lock)
    if (
      path === 'etc/ssl/openssl.cnf' &&
      configuresNode((await entry.content(readMaxBytes)).toString('utf8'))
    )
      throw refused(`changes how Node starts, in /${path}`)
    if (delivered.size > 0 && ownerOfLibrary(`/${path}`) !== null)
      libraries.set(libraryPath(path), await contentOf(entry))
  }
  refuseReplaced(places)
  const foreign = [...delivered].find(([path, content]) => libraries.get(path) !== content)
  if (foreign !== undefined) throw refused(`changes /${foreign[0]} of another package, which Node loads`)
  const changed = (await made.changed()).find(
    (path) =>
      isOfAgent(path, lock) ||
      // Its own package may remove a library, but only deliver files of its archive.
      (ownerOfLibrary(path) !== null &&
        libraries.get(libraryPath(path)) !== delivered.get(libraryPath(path))),
  )
  if (changed !== undefined) throw refused(`changes ${changed}, which the agent itself uses`)
}

const checkedPlaces: ReadonlySet<string> = new Set([
  ...ownFolders,
  ...ownFiles,
  ...Object.keys(linkedFolders),
])
/** Files that may be missing, but must not be links, whose content another entry has. */
const mustBeFiles: ReadonlySet<string> = new Set(['etc/ld.so.cache', 'etc/ssl/openssl.cnf'])

/** Throws if a link or a file is in place of a folder, or something else in place of a file. */
function refuseReplaced(places: ReadonlyMap<string, Pick<TarFacts, 'type' | 'target'>>): void {
  for (const [path, { type, target }] of places) {
    const isLinked = Object.hasOwn(linkedFolders, path) && type === '2' && target === linkedFolders[path]
    const isOwnFile = ownFiles.some((one) => one === path)
    if (!isOwnFile && type !== '5' && !isLinked) throw refused(`replaces the folder /${path}`)
  }
  const lost = ownFiles.find((path) => places.get(path)?.type !== '0')
  if (lost !== undefined) throw refused(`removes or replaces /${lost}`)
}

/** Returns the digest of a file, or the target of a link, as in `DeliveredLibraries`. */
async function contentOf(entry: TarFacts): Promise<string> {
  if (entry.type !== '0') return entry.type === '2' ? entry.target : `type ${entry.type}`
  return createHash('sha256')
    .update(await entry.content(readMaxBytes))
    .digest('hex')
}

function refuseMisled(cache: Buffer, { architecture }: PackageLock): void {
  let path: string | null
  try {
    path = misledLibrary(cache, architecture)
  } catch {
    throw refused('leaves a damaged /etc/ld.so.cache')
  }
  if (path !== null) throw refused(`lets Node load ${path}, through /etc/ld.so.conf.d or /etc/ld.so.cache`)
}

function refused(what: string): SandboxError {
  return new SandboxError(
    'packages-refused',
    `A package ${what.slice(0, 300)}.\nRepair: remove that package from the list.`,
  )
}
