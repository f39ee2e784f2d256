import type { PackageLock } from '../package-lock.ts'

/**
 * What the agent's own process runs before any program of a package: Node with the libraries that it loads, the bundle
 * of the agent, and the configuration that the dynamic loader and OpenSSL read by themselves. What only programs read
 * that an agent chooses to run, such as `sitecustomize` of Python or `/etc/environment` of login programs, is not
 * listed: it runs with the rights of any program of the agent.
 */

/** Folders and files of which any change is refused. A folder ends with `/`. */
const ownPlaces = [
  '/opt/flotilla/',
  '/usr/local/bin/node',
  '/usr/local/lib/npm/',
  // The first folder in which the engine looks for `node`.
  '/usr/local/sbin/',
  '/etc/ld.so.preload',
  // Node looks in these folders for modules that the bundle requires and tolerates to miss.
  '/node_modules/',
  '/opt/node_modules/',
  '/usr/local/lib/node/',
  '/package.json',
  '/opt/package.json',
] as const

/** The libraries that Node loads, and the packages of the distribution that may replace them. */
const libraries: Readonly<Record<string, string>> = {
  'libc.so.6': 'libc6',
  'libm.so.6': 'libc6',
  'libdl.so.2': 'libc6',
  'libpthread.so.0': 'libc6',
  'ld-linux-x86-64.so.2': 'libc6',
  'ld-linux-aarch64.so.1': 'libc6',
  'libstdc++.so.6': 'libstdc++6',
  'libgcc_s.so.1': 'libgcc-s1',
  'libatomic.so.1': 'libatomic1',
}

/** Folders in which the dynamic loader looks without any configuration. */
const libraryFolder = /^\/(?:usr\/)?lib(?:64)?\/(?:(?:x86_64|aarch64)-linux-gnu\/)?(?:glibc-hwcaps\/.*)?$/

/**
 * Paths that must be folders where they exist: on the way to what the agent runs, and where the engine mounts folders. A
 * link in their place would lead to files that no other rule names.
 */
export const ownFolders = [
  'usr',
  'usr/bin',
  'usr/sbin',
  'usr/lib',
  'usr/lib64',
  'usr/lib/x86_64-linux-gnu',
  'usr/lib/aarch64-linux-gnu',
  'usr/local',
  'usr/local/bin',
  'usr/local/sbin',
  'usr/local/lib',
  'usr/local/lib/npm',
  'etc',
  'etc/ssl',
  'etc/ssl/certs',
  'opt',
  'opt/flotilla',
  'opt/flotilla/packages',
  'briefing',
  'data',
  'dev',
  'proc',
  'sys',
  'tmp',
] as const
/** Paths that are folders, or links to exactly these folders, as in distributions that keep all programs in /usr. */
export const linkedFolders: Readonly<Record<string, string>> = {
  bin: 'usr/bin',
  sbin: 'usr/sbin',
  lib: 'usr/lib',
  lib64: 'usr/lib64',
}
/** Files that must exist as files. */
export const ownFiles = ['usr/local/bin/node', 'opt/flotilla/agent.cjs'] as const

/** Returns whether packages may not change this path. The engine lists parent folders as changed, too. Pure. */
export function isOfAgent(path: string, lock: Pick<PackageLock, 'apt'>): boolean {
  if (path === '/opt/flotilla/packages' || path.startsWith('/opt/flotilla/packages/')) return false
  if (ownPlaces.some((place) => path === place || (place.endsWith('/') && path.startsWith(place))))
    return true
  // A link or a file in place of such a folder.
  if (path === '/node_modules' || path === '/opt/node_modules' || path === '/usr/local/lib/node') return true
  const owner = ownerOfLibrary(path)
  if (owner === null) return false
  return path.includes('/glibc-hwcaps/') || !lock.apt.some(({ name }) => name === owner)
}

/** Returns the package of the distribution to which a library of Node belongs; null for another path. Pure. */
export function ownerOfLibrary(path: string): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const library = Object.keys(libraries).find((one) => name === one || name.startsWith(`${one}.`))
  if (library === undefined || !libraryFolder.test(path.slice(0, -name.length))) return null
  return libraries[library] ?? null
}

/** Flags of the entries of the loader's cache that are for this machine's programs. */
const cacheFlags = { x64: 0x0303, arm64: 0x0a03 } as const
const cacheMagic = 'glibc-ld.so.cache1.1'
/** The size of the head of the loader's cache, in bytes. */
const cacheHeadBytes = 48
/** The size of one entry of the loader's cache, in bytes. */
const cacheEntryBytes = 24

/**
 * Returns the first library of Node that the loader's cache `/etc/ld.so.cache` leads to an unusual folder; null if it
 * leads to usual folders alone. Packages change the cache through files in `/etc/ld.so.conf.d`. Throws `RangeError` for a
 * damaged cache. Pure.
 */
export function misledLibrary(cache: Buffer, architecture: PackageLock['architecture']): string | null {
  if (cache.toString('latin1', 0, cacheMagic.length) !== cacheMagic)
    throw new RangeError('the cache has an unknown format')
  const textAt = (offset: number): string => {
    const end = cache.indexOf(0, offset)
    return cache.toString('utf8', offset, end < 0 ? cache.length : end)
  }
  const count = cache.readUInt32LE(20)
  for (let index = 0; index < count; index += 1) {
    const at = cacheHeadBytes + index * cacheEntryBytes
    if (cache.readInt32LE(at) !== cacheFlags[architecture]) continue
    const name = textAt(cache.readUInt32LE(at + 4))
    const path = textAt(cache.readUInt32LE(at + 8))
    if (!Object.hasOwn(libraries, name)) continue
    const isUsual = libraryFolder.test(path.slice(0, path.lastIndexOf('/') + 1)) && path.endsWith(`/${name}`)
    if (!isUsual || path.includes('/glibc-hwcaps/')) return path
  }
  return null
}

/**
 * Returns whether this OpenSSL configuration may have a part that Node applies when it starts. OpenSSL joins lines that
 * end with a backslash, and also removes other backslashes from long lines, so none counts. Pure.
 */
export function configuresNode(opensslConf: string): boolean {
  // OpenSSL ends a line at a NUL and joins the next one to it.
  if (opensslConf.includes('\0')) return true
  return opensslConf.split(/(?<!\\\r*)\n/).some((line) => {
    const isComment = /^[ \t]*#/.test(line) && !line.includes('\n')
    const joined = line.replace(/[\\\r\n]/g, '')
    return joined.includes('nodejs_conf') || (joined.includes('.include') && !isComment)
  })
}
