import * as z from 'zod'
import { readJsonDocument } from '@flotilla/foundation/config'
import type { PackageLock } from '../package-lock.ts'
import { tarDirectory } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'
import { failed } from './build-failed.ts'
import type { RegistryTable } from './registry-table.ts'

/** The maximum size of npm's lock file, in bytes: 5000 packages take about 3 MB. */
export const npmLockMaxBytes = 8 * 1024 * 1024

const specs = z.record(z.string(), z.string()).optional()
const entrySchema = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
  /** True for a package that comes inside the file of another one. */
  inBundle: z.boolean().optional(),
  dependencies: specs,
  optionalDependencies: specs,
})
const npmLockSchema = z.looseObject({ packages: z.record(z.string(), entrySchema) })
type NpmLock = z.infer<typeof npmLockSchema>

/**
 * Returns npm's own lock file, and the manifest to which it belongs, for the folder `npm`. With a table, the files have
 * their loopback addresses. Throws `packages-failed` for a lock file with anything but files of registries.
 */
export function npmFiles(
  text: string,
  file: (name: string, content: string) => TarEntry,
  table: Pick<RegistryTable, 'toLocal'> | null,
): readonly TarEntry[] {
  const lock = npmLockOf(text)
  const { dependencies } = lock.packages[''] ?? {}
  const manifest = JSON.stringify({ name: 'flotilla-packages', private: true, dependencies })
  const laid = table === null ? text : withAddresses(lock, (address) => localOf(address, table))
  return [
    tarDirectory('npm', { uid: 0, mode: 0o755 }),
    file('npm/package.json', manifest),
    file('npm/package-lock.json', laid),
  ]
}

/**
 * Returns npm's lock file with the registries' own addresses, so that another machine can use it; addresses lose their
 * user names and passwords. Optional packages that the registries lack are left out, because npm chooses versions
 * without them, and then refuses to install from a lock file that asks for them. Throws `packages-failed` for a lock file with anything but files of registries.
 */
export function withOrigins(text: string, table: Pick<RegistryTable, 'toOrigin'>): string {
  return withAddresses(withoutAbsent(npmLockOf(text)), (address) => table.toOrigin(address) ?? address)
}

/** Returns the packages of npm's lock file. Throws `packages-failed` as `npmFiles` does. */
export function npmEntries(text: string): PackageLock['npm'] {
  return Object.entries(npmLockOf(text).packages).flatMap(([path, { name, version, integrity = '' }]) =>
    path === '' || version === undefined ? [] : [{ name: name ?? nameAt(path), version, integrity }],
  )
}

function npmLockOf(text: string): NpmLock {
  const reading = readJsonDocument(text, npmLockSchema)
  if (!reading.ok) throw failed(`npm’s lock file is invalid: ${reading.reason}`)
  const lock = reading.document.value
  for (const [path, entry] of Object.entries(lock.packages)) {
    const wrong = whyNotFromRegistry(path, entry)
    if (wrong !== null) throw failed(`npm’s lock file is refused: ${nameAt(path) || 'the list'} ${wrong}`)
  }
  return lock
}

/** Returns why an entry is not a file of a registry with a digest; null for one that is. */
function whyNotFromRegistry(path: string, entry: z.infer<typeof entrySchema>): string | null {
  const wanted = { ...entry.dependencies, ...entry.optionalDependencies }
  const [direct] = Object.entries(wanted).find(([, spec]) => isDirect(spec, path === '')) ?? []
  if (direct !== undefined) return `asks for ${direct} from an address or a folder instead of a registry`
  if (path === '' || entry.inBundle === true) return null
  if (entry.link === true) return 'is a link to a folder'
  if (entry.version === undefined) return 'has no version'
  if (
    entry.integrity === undefined ||
    !/^(?:sha(?:1|256|384|512)-[A-Za-z0-9+/]+=*(?: |$))+$/.test(entry.integrity)
  )
    return 'has no digest, so that its file could not be checked'
  if (entry.resolved !== undefined && !/^https?:\/\//.test(entry.resolved))
    return 'does not come from a registry'
  return null
}

/** Another name of a package of a registry is allowed to packages, but not to the list itself. */
function isDirect(spec: string, isOfList: boolean): boolean {
  const range = isOfList ? spec : spec.replace(/^npm:(?:@[a-z0-9._~-]+\/)?[a-z0-9._~-]+(?:@|$)/i, '')
  return /[:/]/.test(range)
}

function withoutAbsent(lock: NpmLock): NpmLock {
  const present = new Set(Object.keys(lock.packages).map(nameAt))
  const packages = Object.entries(lock.packages).map(([path, entry]) => {
    const { optionalDependencies, ...rest } = entry
    if (optionalDependencies === undefined) return [path, entry] as const
    const kept = Object.fromEntries(
      Object.entries(optionalDependencies).filter(([name]) => present.has(name)),
    )
    return [path, { ...rest, optionalDependencies: kept }] as const
  })
  return { ...lock, packages: Object.fromEntries(packages) }
}

function withAddresses(lock: NpmLock, change: (address: string) => string): string {
  const packages = Object.fromEntries(
    Object.entries(lock.packages).map(([path, entry]) => [
      path,
      entry.resolved === undefined ? entry : { ...entry, resolved: change(entry.resolved) },
    ]),
  )
  return `${JSON.stringify({ ...lock, packages }, null, 2)}\n`
}

function localOf(address: string, { toLocal }: Pick<RegistryTable, 'toLocal'>): string {
  const local = toLocal(address)
  if (local !== null) return local
  const host = URL.canParse(address) ? new URL(address).host : 'an invalid address'
  throw failed(`npm’s lock file names files of ${host}, which is not a registry of this machine`)
}

function nameAt(path: string): string {
  const start = path.lastIndexOf('node_modules/')
  return start < 0 ? path : path.slice(start + 'node_modules/'.length)
}
