import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { readAptSources, usableAptSources } from '../image/apt-sources.ts'
import type { AptSourceFile } from '../image/apt-sources.ts'
import type { HostPlaces } from './host-places.ts'
import { addNpmRegistries } from './npm-settings.ts'
import { addPipIndexes } from './pip-settings.ts'
import type { RegistryTable } from './registry-table.ts'

/** The folder of key files in a container. */
const keysFolder = '/fetch/config/keys'
/** Where apt has keys that are valid for all sources that name none. */
const trustedFolder = '/etc/apt/trusted.gpg.d'

/** The settings for package managers in a container. They have no credentials: the mesh adds these outside. */
export interface HostRegistries {
  /** The package sources; empty if no source exists. */
  readonly apt: readonly AptSourceFile[]
  /** Key files that the sources name, by the path to which `apt` was changed. */
  readonly keys: readonly KeyFile[]
  /** Key files of this machine that are valid for sources that name none. */
  readonly trusted: readonly KeyFile[]
  readonly npmrc: string
  readonly pipConfig: string
}

export interface KeyFile {
  readonly path: string
  readonly content: Buffer
}

/**
 * Reads the configuration of apt, npm and pip on this machine, for an image of the release `codename`, and adds the
 * registries with their credentials to the table. If no apt source of this machine has packages for the release, those
 * of the image are used.
 */
export async function readHostRegistries(
  table: RegistryTable,
  places: HostPlaces,
  image: { readonly codename: string; readonly sources: readonly AptSourceFile[] },
): Promise<HostRegistries> {
  const own = usableAptSources(await readAptSources(), image.codename)
  const { sources, keys } = await withKeys(own)
  const trusted = own.length === 0 ? [] : await trustedKeys()
  return {
    apt: localAptSources(table, own.length === 0 ? image.sources : sources),
    keys,
    trusted,
    npmrc: await addNpmRegistries(table, places),
    pipConfig: await addPipIndexes(table, places),
  }
}

/** Reads the key files that sources name, and changes their paths to those in a container. */
async function withKeys(sources: readonly AptSourceFile[]) {
  const keys: KeyFile[] = []
  const changedSources: AptSourceFile[] = []
  for (const { path, text } of sources) {
    let changed = text
    for (const [, key = ''] of text.matchAll(/signed-by\s*[:=]\s*(\/[^\s\],]+)/gi)) {
      const content = await readFile(key).catch(() => null)
      if (content === null) continue
      const inside = `${keysFolder}/${keys.length}-${basename(key)}`
      keys.push({ path: inside, content })
      changed = changed.replace(key, inside)
    }
    changedSources.push({ path, text: changed })
  }
  return { sources: changedSources, keys }
}

/** Reads the keys that apt of this machine trusts for sources without a key of their own. */
async function trustedKeys(folder = trustedFolder): Promise<readonly KeyFile[]> {
  const names = await readdir(folder).catch(() => [])
  const paths = ['/etc/apt/trusted.gpg', ...names.map((name) => join(folder, name))]
  const found = await Promise.all(
    paths
      .filter((path) => /\.(?:gpg|asc)$/.test(path))
      .map(async (path) => ({ path, content: await readFile(path).catch(() => null) })),
  )
  return found.flatMap(({ path, content }) => (content === null ? [] : [{ path, content }]))
}

/** Adds the addresses of apt sources to the table; returns the sources with the addresses in a container. */
export function localAptSources(
  table: Pick<RegistryTable, 'add'>,
  sources: readonly AptSourceFile[],
): readonly AptSourceFile[] {
  return sources.map(({ path, text }) => ({
    path,
    text: text
      .replace(/^[ \t]*#.*\n?/gm, '')
      .replace(/https?:\/\/[^\s\]]+/g, (address) => table.add('apt', address) ?? address),
  }))
}
