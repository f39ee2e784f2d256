import type { PackageLock } from '../package-lock.ts'
import type { TarFacts } from '../read-tar.ts'
import { SandboxError } from '../sandbox-error.ts'
import { configuresNode, isOfAgent, misledLibrary, ownFiles, ownFolders } from './trusted-places.ts'

/** The maximum size of a configuration file that is read, in bytes. */
const configMaxBytes = 16 * 1024 * 1024
const setIdBits = 0o6000

/**
 * Checks the files of a stopped container from outside, because programs of packages could have changed the programs
 * inside. Rejects with `packages-refused` if packages changed what the agent's own process trusts, or if a file would
 * run as another user than its caller.
 */
export async function checkImage(made: {
  /** Paths that differ from the agent image. */
  readonly changed: readonly string[]
  /** All files of the container. */
  readonly files: AsyncIterable<TarFacts>
  readonly lock: PackageLock
}): Promise<void> {
  const { lock } = made
  const changed = made.changed.find((path) => isOfAgent(path, lock))
  if (changed !== undefined) throw refused(`changes ${changed}, which the agent itself uses`)
  const types = new Map<string, string>()
  for await (const entry of made.files) {
    const { path, type, mode, size } = entry
    types.set(path, type)
    if ((type === '0' || type === '1') && (mode & setIdBits) !== 0)
      throw refused(`leaves /${path} with the right to run as another user`)
    if (path === 'etc/ld.so.cache' && size > 0) refuseMisled(await entry.content(configMaxBytes), lock)
    const isConfig = path === 'etc/ssl/openssl.cnf'
    if (isConfig && type !== '0') throw refused(`replaces /${path} by a link`)
    if (isConfig && configuresNode((await entry.content(configMaxBytes)).toString('utf8')))
      throw refused(`changes how Node starts, in /${path}`)
  }
  for (const path of ownFolders) {
    if (types.has(path) && types.get(path) !== '5') throw refused(`replaces the folder /${path}`)
  }
  const lost = ownFiles.find((path) => types.get(path) !== '0')
  if (lost !== undefined) throw refused(`removes or replaces /${lost}`)
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
