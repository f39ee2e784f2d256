import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { usableAptSources } from '../image/apt-sources.ts'
import type { AptSourceFile } from '../image/apt-sources.ts'
import { ofRoot } from '../image/ensure-image.ts'
import type { PackageLock } from '../package-lock.ts'
import { SandboxError } from '../sandbox-error.ts'
import { tarDirectory, tarFile } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'
import { failed } from './build-failed.ts'
import { mustRun, quoted } from './build-steps.ts'
import type { BuildContainer } from './build-container.ts'
import type { Derivation, PackageSources } from './derivation.ts'
import { readHostRegistries } from './host-registries.ts'
import type { HostRegistries } from './host-registries.ts'
import { missingPackage } from './missing-package.ts'
import { npmFiles, npmLockMaxBytes, withOrigins } from './npm-lock.ts'
import { differs, requirementsOf } from './read-lock.ts'
import type { RegistryTable } from './registry-table.ts'

/** Files of `images/packages` that are copied into the container. */
const recipeFiles = ['fetch.sh', 'fetch-npm.sh', 'fetch-pip.py', 'install.sh', 'list.sh'] as const

/** Copies the programs that install packages into the container. */
export async function layRecipe(
  { recipeDirectory }: Pick<PackageSources, 'recipeDirectory'>,
  container: BuildContainer,
): Promise<void> {
  const files = await Promise.all(
    recipeFiles.map(async (name) =>
      tarFile(`recipe/${name}`, await readFile(join(recipeDirectory, name)), ofRoot),
    ),
  )
  await container.put('/fetch', [tarDirectory('recipe', { uid: 0, mode: 0o755 }), ...files])
}

interface Download extends Derivation {
  /** The registries of the open proxy; those of this machine are added. */
  readonly registries: RegistryTable
  /** The destinations that the proxy refused, and the registries that did not answer. */
  readonly refused: ReadonlySet<string>
  readonly unreachable: ReadonlySet<string>
}

/**
 * Downloads the packages into the container: by name for a new lock, else in exactly the locked versions. Returns npm's
 * lock file with the registries' own addresses; empty without npm packages. Rejects with `SandboxError`.
 */
export async function download(
  sources: PackageSources,
  container: BuildContainer,
  of: Download,
): Promise<string> {
  const { lock, packages, registries } = of
  const release = await mustRun(container, ['sh', '-c', '. /etc/os-release; echo "$VERSION_CODENAME"'])
  const found = await readHostRegistries(registries, sources.hostPlaces, {
    codename: release.trim(),
    sources: await imageSources(container, release.trim()),
  })
  await layConfiguration(container, found, lock)
  const exact = (one: { readonly name: string; readonly version: string }) => `${one.name}=${one.version}`
  await run(container, of, {
    script: 'fetch.sh',
    env: {
      APT: (lock?.apt.map(exact) ?? packages.apt).join(' '),
      NPM: packages.npm.join(' '),
      PIP: (lock?.pip.map(({ name }) => name) ?? packages.pip).join(' '),
      LOCKED: lock === null ? '0' : '1',
    },
  })
  const npmLock = lock?.npm_lock ?? (packages.npm.length === 0 ? '' : await chosenNpm(container, registries))
  if (npmLock === '') return ''
  await container.put('/fetch', npmFiles(npmLock, file, registries))
  await run(container, of, { script: 'fetch-npm.sh', env: {} })
  await container.put('/fetch', npmFiles(npmLock, file, null))
  return npmLock
}

const file = (name: string, content: string | Buffer): TarEntry => tarFile(name, Buffer.from(content), ofRoot)

/** Returns the lock file in which npm chose versions, with the registries' own addresses. */
async function chosenNpm(container: BuildContainer, registries: RegistryTable): Promise<string> {
  const text = await container
    .read('/fetch/npm/package-lock.json', npmLockMaxBytes)
    .catch((error: unknown) => {
      if (error instanceof RangeError) throw failed('npm’s lock file is too large')
      throw error
    })
  if (text === null) throw failed('npm wrote no lock file')
  return withOrigins(text.toString('utf8'), registries)
}

/** Returns the package sources of the image. */
async function imageSources(container: BuildContainer, codename: string): Promise<readonly AptSourceFile[]> {
  const text = await mustRun(container, [
    'sh',
    '-c',
    'for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do [ ! -f "$file" ] || { printf "\\n\\001%s\\n" "$file"; cat "$file"; }; done',
  ])
  const files = text.split('\n\u0001').flatMap((part) => {
    const end = part.indexOf('\n')
    return end > 0 ? [{ path: part.slice(0, end), text: part.slice(end + 1) }] : []
  })
  const usable = usableAptSources(files, codename)
  return usable.length > 0 ? usable : files
}

async function layConfiguration(
  container: BuildContainer,
  { apt, keys, trusted, npmrc, pipConfig }: HostRegistries,
  lock: PackageLock | null,
): Promise<void> {
  const folder = (name: string) => tarDirectory(name, { uid: 0, mode: 0o755 })
  await container.put('/fetch', [
    folder('config'),
    file('config/npmrc', npmrc),
    file('config/pip.conf', pipConfig),
    folder('config/apt'),
    ...apt.map(({ path, text }, index) =>
      file(`config/apt/${index}${path.endsWith('.sources') ? '.sources' : '.list'}`, `${text}\n`),
    ),
    folder('config/keys'),
    ...keys.map(({ path, content }) => file(`config/keys/${basename(path)}`, content)),
    folder('config/trusted'),
    ...trusted.map(({ path, content }) => file(`config/trusted/machine-${basename(path)}`, content)),
    ...(lock === null ? [] : [file('config/requirements.txt', requirementsOf(lock))]),
  ])
}

/** Runs a program that downloads; its failure names the package or the destination that was the reason. */
async function run(
  container: BuildContainer,
  { lock, refused, unreachable }: Pick<Download, 'lock' | 'refused' | 'unreachable'>,
  { script, env }: { readonly script: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const done = await container.run({ command: ['sh', `/fetch/recipe/${script}`], env })
  if (done.code === 0) return
  // A package manager also reports a package as missing if its registry did not answer.
  if (unreachable.size > 0)
    throw new SandboxError(
      'registries-unreachable',
      `The packages could not be downloaded now: ${[...unreachable].slice(0, 3).join('; ')}.\nRepair: check whether this machine reaches its package registries.`,
    )
  const missing = missingPackage(done.output)
  if (missing !== null && lock === null)
    throw new SandboxError(
      'package-missing',
      `${missing.name} is not in ${missing.registry} that this machine uses.\nRepair: correct the name or the version in the list of packages.`,
    )
  if (missing !== null)
    throw new SandboxError(
      'package-missing',
      `${missing.registry} that this machine uses no longer has ${missing.name} in the locked version.\nRepair: choose the newest versions with flotilla image rebuild AGENT.`,
    )
  if (lock !== null && /\bEINTEGRITY\b/.test(done.output)) throw differs('npm reports another digest')
  const others = [...refused].join(', ')
  const why =
    others === ''
      ? ''
      : `\nIt asked for ${others}, which does not belong to a registry of this machine’s configuration.`
  throw failed(`the packages could not be downloaded:${why}\n${quoted(done.output)}`)
}
