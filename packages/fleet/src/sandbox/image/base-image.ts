import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '../engine/connect-engine.ts'
import { canInstall, installPackages } from '../engine/install-engine.ts'
import { lastWords, runCommand } from '../run-command.ts'
import type { ReportStep } from '../report-step.ts'
import { SandboxError } from '../sandbox-error.ts'
import { readAptSources, removeSourceCredentials, usableAptSources } from './apt-sources.ts'
import { followEngine } from './engine-images.ts'
import { heldById, imageId, inspectImage, knownImage, noteImage } from './known-images.ts'
import { pullImage } from './pull-image.ts'

const registryBase = 'debian:bookworm-slim'
/** The time limit for downloading the base image, in milliseconds. */
const pullTimeoutMs = 120_000
/** The time limit for building the base image from packages of the distribution, in milliseconds. */
const bootstrapTimeoutMs = 15 * 60_000

/** Options that leave documentation and translations out of an offline base: no container reads them. */
const bootstrapOptions = [
  '--variant=minbase',
  '--aptopt=Acquire::Languages "none"',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/info/*',
] as const

export interface BaseImageOptions {
  readonly engine: Engine
  readonly packages: readonly string[]
  readonly cacheDirectory: string
  /** The owner's own base image, which is used unchanged. */
  readonly baseImage?: string | undefined
  /** Name of the base in a registry; defaults to Debian's. */
  readonly registryBase?: string | undefined
  readonly noInstall: boolean
  readonly uid: number
  readonly progress: ReportStep
  readonly signal?: AbortSignal | undefined
}

/**
 * Returns a base for the agent image, in this order: the owner's own image, one built earlier from this host's
 * packages, Debian from a registry, one built now from this host's packages. Images are identified by id, because
 * another image can get the same name; a registry image is pinned to the digest of its first pull. Returns the id.
 * Rejects with `SandboxError` `no-base-image`.
 */
export async function ensureBaseImage(options: BaseImageOptions): Promise<string> {
  const { engine, cacheDirectory } = options
  if (options.baseImage) return options.baseImage
  const offline = `localhost/flotilla/base:${baseHash(options.packages)}`
  const name = options.registryBase ?? registryBase
  const known =
    (await heldById(engine, cacheDirectory, offline)) ?? (await heldById(engine, cacheDirectory, name))
  if (known !== null) return known
  const fetched = await fetchBase(options, name)
  if (typeof fetched === 'string') return fetched
  options.progress('Building the base image from this system’s packages (about a minute)', {
    step: fetched.step,
    why: `The base image could not be downloaded: ${fetched.refusal}. An image built from this system’s packages is used instead. To use another one, name an image that you trust in FLOTILLA_BASE_IMAGE.`,
  })
  await bootstrap(options, offline)
  const id = await imageId(engine, offline)
  if (id === null) throw noBase('the image that was built does not exist in the engine')
  await noteImage(cacheDirectory, { reference: offline, id, digest: null })
  return id
}

/** Pulls the base image by the digest of its first pull, if any; the registry's tag is trusted only once. */
async function fetchBase(
  options: BaseImageOptions,
  name: string,
): Promise<string | { readonly step: string; readonly refusal: string }> {
  const { engine, cacheDirectory } = options
  const known = await knownImage(cacheDirectory, name)
  const reference = known?.digest ?? name
  const step = `Fetching ${reference}`
  options.progress(step)
  const { signal } = options
  const refusal = await pullImage(engine, reference, { timeoutMs: pullTimeoutMs, signal })
  if (refusal !== null) return { step, refusal }
  const image = await inspectImage(engine, reference)
  const repository = name.slice(0, name.lastIndexOf(':'))
  const digest =
    known?.digest ?? image?.RepoDigests?.find((one) => one.startsWith(`${repository}@sha256:`)) ?? null
  if (image === null || digest === null) return { step, refusal: 'the image came without a digest' }
  await noteImage(cacheDirectory, { reference: name, id: image.Id, digest })
  if (known === null) options.progress(`Using ${name} with the digest ${digest} from now on`)
  return image.Id
}

function baseHash(packages: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([bootstrapOptions, packages, process.arch]))
    .digest('hex')
    .slice(0, 12)
}

async function bootstrap(options: BaseImageOptions, reference: string): Promise<void> {
  await ensureMmdebstrap(options)
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1]
  const sources = codename === undefined ? [] : usableAptSources(await readAptSources(), codename)
  if (codename === undefined || sources.length === 0)
    throw noBase('this system names no Debian package sources')
  const workDirectory = join(options.cacheDirectory, `base-${process.pid}`)
  await rm(workDirectory, { recursive: true, force: true })
  await mkdir(workDirectory, { recursive: true })
  try {
    const sourcePaths = await Promise.all(
      sources.map(async (source, index) => {
        const path = join(workDirectory, `${index}${source.path.endsWith('.sources') ? '.sources' : '.list'}`)
        await writeFile(path, `${source.text}\n`)
        return path
      }),
    )
    const archive = join(workDirectory, 'base.tar')
    const args = [
      ...bootstrapOptions,
      `--include=${options.packages.join(',')}`,
      '--customize-hook=mkdir -p "$1/opt/flotilla" && touch "$1/opt/flotilla/base-is-complete"',
      `--customize-hook=${removeSourceCredentials}`,
      codename,
      archive,
      ...sourcePaths,
    ]
    const made = await runCommand('mmdebstrap', args, {
      timeoutMs: bootstrapTimeoutMs,
      signal: options.signal,
    })
    if (made.code !== 0) throw noBase(`mmdebstrap failed:\n${lastWords(made)}`)
    // Podman ignores a tag that is passed separately from the repository.
    const stream = await options.engine.docker.importImage(createReadStream(archive), { repo: reference })
    await followEngine(options.engine, stream)
  } finally {
    await rm(workDirectory, { recursive: true, force: true })
  }
}

async function ensureMmdebstrap(options: BaseImageOptions): Promise<void> {
  if ((await runCommand('mmdebstrap', ['--version'], { timeoutMs: 10_000 })).code === 0) return
  if (options.noInstall || !(await canInstall(options.uid)))
    throw noBase('mmdebstrap, which can build one offline, is not installed')
  options.progress("Installing mmdebstrap from this system's packages")
  await installPackages(['mmdebstrap'], { signal: options.signal })
}

function noBase(why: string): SandboxError {
  return new SandboxError(
    'no-base-image',
    `The agent image has no base image: no registry delivered ${registryBase}, and ${why}.\nRepair: connect the engine to a registry, or name an image that you trust in FLOTILLA_BASE_IMAGE (best by its digest), or on Debian run: sudo apt-get install -y mmdebstrap`,
  )
}
