import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { Clock } from '@flotilla/protocol/clock'
import type { Engine } from '../engine/connect-engine.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { followEngine } from '../image/engine-images.ts'
import { ofRoot } from '../image/ensure-image.ts'
import { noteUse } from '../image/image-uses.ts'
import { heldById, imageId, knownImage, noteImage } from '../image/known-images.ts'
import { packagesImageName, pruneImages } from '../image/prune-images.ts'
import type { EnsurePackages, PackageImage } from '../package-images.ts'
import { lockDigest, packagesKey } from '../package-lock.ts'
import type { PackageLock } from '../package-lock.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import { tarArchive, tarDirectory, tarFile } from '../tar-archive.ts'
import { failed, mustRun, quoted } from './build-steps.ts'
import { startBuildContainer } from './build-container.ts'
import type { BuildContainer } from './build-container.ts'
import { aptHosts, readHostRegistries } from './host-registries.ts'
import type { HostPlaces, HostRegistries } from './host-registries.ts'
import { missingPackage } from './missing-package.ts'
import { absentFrom, readList } from './read-list.ts'
import type { ListedPackage } from './read-list.ts'
import { differs, lockOf, npmFiles, requirementsOf } from './read-lock.ts'
import { programsPath } from './programs-path.ts'
import { openRegistryProxy } from './registry-proxy.ts'

/** The time limit of one build, in milliseconds. */
const buildTimeoutMs = 30 * 60_000
/** How many images with packages are kept for one home. */
const keptImagesMax = 16

/** Files of `images/packages` that are copied into the container. */
const recipeFiles = ['fetch.sh', 'fetch-pip.py', 'install.sh', 'list.sh'] as const

/** How packages are installed, and from where. */
export interface PackageSources {
  /** The folder `images/packages` with the programs that install packages. */
  readonly recipeDirectory: string
  /** Where the configuration of this machine's package managers is. */
  readonly hostPlaces: HostPlaces
  /** The proxies that this machine itself uses. */
  readonly proxies: OutboundProxies
}

export interface DeriveOptions {
  readonly homeId: string
  readonly packages: PackageSources
  readonly cacheDirectory: string
  /** Folder of volumes of the home; its parent is the home's data folder. */
  readonly volumesFolder: string
  readonly clock: Clock
}

/** Where an image is derived: an engine and the agent image in it. */
export interface DeriveBase {
  readonly engine: Engine
  readonly image: string
}

interface Derivation extends EnsurePackages {
  readonly packages: JoinedPackages
  readonly signal: AbortSignal
}

/** Returns the image with the packages on top of the agent image; see `PackageImages` for the contract. */
export async function deriveImage(
  options: DeriveOptions,
  base: DeriveBase,
  of: Derivation,
): Promise<PackageImage> {
  const { lock } = of
  const held = lock === null ? null : await heldImage(options, base, lock)
  if (lock !== null && held !== null) return { id: held, lock, installed: null }
  const signal = AbortSignal.any([of.signal, AbortSignal.timeout(buildTimeoutMs)])
  of.progress('Installing packages for agents into an image')
  return build(options, base, { ...of, signal }).catch((error: unknown) => {
    of.signal.throwIfAborted()
    if (!signal.aborted) throw error
    throw new SandboxError(
      'packages-late',
      `The packages were not installed within ${buildTimeoutMs / 60_000} minutes.\nRepair: check whether this machine reaches its package registries, then start the agent again.`,
      { cause: error },
    )
  })
}

async function heldImage(
  options: DeriveOptions,
  base: DeriveBase,
  lock: PackageLock,
): Promise<string | null> {
  const reference = referenceOf(base, lock)
  const known = await knownImage(options.cacheDirectory, reference)
  if (known === null) return null
  await note(options, known.id)
  return heldById(base.engine, options.cacheDirectory, reference)
}

function referenceOf({ image }: DeriveBase, lock: PackageLock): string {
  const tag = createHash('sha256')
    .update(`${image} ${lockDigest(lock)}`)
    .digest('hex')
    .slice(0, 16)
  return `${packagesImageName}${tag}`
}

async function note({ cacheDirectory, homeId, volumesFolder }: DeriveOptions, image: string): Promise<void> {
  // Recorded under another id than agent images, so that the images of each kind are kept for a home.
  const home = { id: `${homeId} packages`, folder: dirname(volumesFolder), keptMax: keptImagesMax }
  await noteUse(cacheDirectory, home, image)
}

async function build(options: DeriveOptions, base: DeriveBase, of: Derivation): Promise<PackageImage> {
  const registriesFolder = join(registriesFolderOf(options), packagesKey(of.packages))
  // The container mounts the folder, so the proxy opens before the container exists. Its hosts are known only once the
  // container has reported the release of its distribution.
  const hosts = new Set<string>()
  const proxy = await openRegistryProxy({
    folder: registriesFolder,
    hosts,
    proxies: options.packages.proxies,
  })
  let container: BuildContainer | null = null
  try {
    container = await startBuildContainer(base.engine, {
      image: base.image,
      homeTag: homeTag(options.homeId),
      registriesFolder,
      forwarder: await readFile(join(options.packages.recipeDirectory, 'forward.cjs'), 'utf8'),
      signal: of.signal,
    })
    await layRecipe(options, container)
    const registries = await registriesFor(options, container, hosts)
    await layConfiguration(container, registries, of.lock)
    await fetch(container, of, proxy.refused)
    await proxy.close()
    const lock = await lockOf(container, { ...of, architecture: base.engine.architecture })
    const held = of.lock === null ? await heldImage(options, base, lock) : null
    if (held !== null) return { id: held, lock, installed: null }
    of.progress('Installing the downloaded packages without a network')
    await mustRun(container, ['sh', '/fetch/recipe/install.sh'])
    const installed = await checkInstalled(container, lock)
    await container.refuseChanges()
    const id = await store(options, base, { container, lock, signal: of.signal })
    return { id, lock, installed }
  } finally {
    await proxy.close()
    await container?.remove()
  }
}

async function layRecipe({ packages }: DeriveOptions, container: BuildContainer): Promise<void> {
  const files = await Promise.all(
    recipeFiles.map(async (name) =>
      tarFile(`recipe/${name}`, await readFile(join(packages.recipeDirectory, name)), ofRoot),
    ),
  )
  await container.put('/fetch', [tarDirectory('recipe', { uid: 0, mode: 0o755 }), ...files])
}

/** Adds the registries to the destinations of the proxy and returns the configuration for the package managers. */
async function registriesFor(
  { packages }: DeriveOptions,
  container: BuildContainer,
  hosts: Set<string>,
): Promise<HostRegistries> {
  const release = await mustRun(container, ['sh', '-c', '. /etc/os-release; echo "$VERSION_CODENAME"'])
  const registries = await readHostRegistries(release.trim(), packages.hostPlaces)
  for (const host of registries.hosts) hosts.add(host)
  if (registries.apt.length === 0) {
    // This machine is of another distribution, so the image's own sources are used.
    const text = await mustRun(container, [
      'sh',
      '-c',
      'cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null || true',
    ])
    for (const host of aptHosts([{ path: '', text }])) hosts.add(host)
  }
  return registries
}

async function layConfiguration(
  container: BuildContainer,
  { apt, keys, npmrc, pipConfig }: HostRegistries,
  lock: PackageLock | null,
): Promise<void> {
  const file = (name: string, content: string | Buffer) => tarFile(name, Buffer.from(content), ofRoot)
  await container.put('/fetch', [
    tarDirectory('config', { uid: 0, mode: 0o700 }),
    file('config/npmrc', npmrc),
    file('config/pip.conf', pipConfig),
    ...(apt.length === 0 ? [] : [tarDirectory('config/apt', { uid: 0, mode: 0o755 })]),
    ...apt.map(({ path, text }, index) =>
      file(`config/apt/${index}${path.endsWith('.sources') ? '.sources' : '.list'}`, `${text}\n`),
    ),
    ...(keys.length === 0 ? [] : [tarDirectory('config/keys', { uid: 0, mode: 0o755 })]),
    ...keys.map(({ path, content }) => file(`config/keys/${basename(path)}`, content)),
    ...(lock === null
      ? []
      : [file('config/requirements.txt', requirementsOf(lock)), ...npmFiles(lock, file)]),
  ])
}

/** Downloads the packages: by name for a new lock, else in exactly the locked versions. */
async function fetch(
  container: BuildContainer,
  { packages, lock }: Derivation,
  refused: ReadonlySet<string>,
): Promise<void> {
  const exact = (one: { readonly name: string; readonly version: string }) => `${one.name}=${one.version}`
  const env = {
    APT: (lock?.apt.map(exact) ?? packages.apt).join(' '),
    NPM: (lock === null ? packages.npm : lock.npm_lock === '' ? [] : ['locked']).join(' '),
    PIP: (lock?.pip.map(({ name }) => name) ?? packages.pip).join(' '),
    LOCKED: lock === null ? '0' : '1',
  }
  const done = await container.run({ command: ['sh', '/fetch/recipe/fetch.sh'], env })
  if (done.code === 0) return
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
    others === '' ? '' : `\nIt asked for ${others}, which is no registry of this machine’s configuration.`
  throw failed(`the packages could not be downloaded:${why}\n${quoted(done.output)}`)
}

/** Reads the package databases of the image; rejects if they lack a locked package. */
async function checkInstalled(
  container: BuildContainer,
  lock: PackageLock,
): Promise<readonly ListedPackage[]> {
  const installed = readList(await mustRun(container, ['sh', '/fetch/recipe/list.sh', 'installed']))
  const absent = absentFrom(installed, lock)
  if (absent.length > 0) throw failed(`these packages are not installed: ${absent.slice(0, 5).join(', ')}`)
  return installed
}

/** Stores the container as an image that agents can run from. Leaves nothing if it fails. */
async function store(
  options: DeriveOptions,
  base: DeriveBase,
  made: { readonly container: BuildContainer; readonly lock: PackageLock; readonly signal: AbortSignal },
): Promise<string> {
  const { engine } = base
  const reference = referenceOf(base, made.lock)
  const layer = await made.container.commit()
  const uid = sandboxHardening.uid
  const recipe = [
    `FROM ${layer}`,
    `USER ${uid}:${uid}`,
    'WORKDIR /data',
    `ENV PATH=${programsPath}`,
    // Agents cannot write to the folders of the distribution, so pip installs below /data.
    'ENV PIP_BREAK_SYSTEM_PACKAGES=1',
    `LABEL ${labelKeys.role}=image`,
    'CMD ["node", "--disable-sigusr1", "/opt/flotilla/agent.cjs"]',
  ].join('\n')
  try {
    const context = tarArchive([tarFile('Dockerfile', Buffer.from(`${recipe}\n`), ofRoot)])
    const stream = await engine.docker.buildImage(Readable.from(context), {
      t: reference,
      rm: true,
      forcerm: true,
      networkmode: 'none',
      abortSignal: made.signal,
    })
    await followEngine(engine, stream)
    const id = await imageId(engine, reference)
    if (id === null) throw failed('the engine does not have the image that it built')
    // The use is recorded before the image: pruning removes only images that are recorded as built here.
    await note(options, id)
    await noteImage(options.cacheDirectory, { reference, id, digest: null })
    await pruneImages(engine, options.cacheDirectory, options.clock.now())
    return id
  } catch (error) {
    await engine.docker
      .getImage(layer)
      .remove()
      .catch(() => undefined)
    throw error
  }
}

/** Folder of the sockets of registry proxies; a mesh that was killed leaves its socket there. */
export function registriesFolderOf({ volumesFolder }: Pick<DeriveOptions, 'volumesFolder'>): string {
  return join(dirname(volumesFolder), 'registries')
}
