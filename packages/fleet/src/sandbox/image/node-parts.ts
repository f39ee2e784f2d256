import { access, mkdir, rm } from 'node:fs/promises'
import * as fs from 'node:fs'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'
import * as z from 'zod'
import { moveIntoPlace } from '@flotilla/foundation/config'
import { lastWords, runCommand } from '../run-command.ts'
import type { CommandResult } from '../run-command.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'

/** Version of npm in the agent image; the Node package from the registry contains no npm. */
export const npmVersion = '11.19.1'

const playwrightName = 'playwright-core'
/** The Playwright version of the browser image; a test checks that the repository's tests use the same version. */
export const playwrightVersion = '1.65.1'

/** The time limit for removing debug symbols from Node, in milliseconds. */
const stripTimeoutMs = 60_000
/** The time limit of one `npm` command that fetches or packs a package, in milliseconds. */
const packTimeoutMs = 120_000

export interface PinnedNode {
  readonly binary: string
  readonly version: string
}

/** Finds the lock file's Node, installed for this architecture. Throws `SandboxError` `pinned-node-missing`. */
export function findPinnedNode(packageDirectory: string, architecture: 'x64' | 'arm64'): PinnedNode {
  const name = `node-linux-${architecture}`
  try {
    const manifest = createRequire(join(packageDirectory, 'package.json')).resolve(`${name}/package.json`)
    const { version } = z
      .looseObject({ version: z.string() })
      .parse(JSON.parse(readFileSync(manifest, 'utf8')))
    return { binary: join(dirname(manifest), 'bin', 'node'), version }
  } catch (cause) {
    throw new SandboxError(
      'pinned-node-missing',
      `The package ${name} is not installed: ${reasonOf(cause)}\nRepair: npm ci --include=optional`,
      { cause },
    )
  }
}

/**
 * Finds SQLite's vector search for the engine's architecture, which an agent's memory loads. Null if the package is
 * not installed; an agent's memory then searches by words alone.
 */
export function findVectorExtension(packageDirectory: string, architecture: 'x64' | 'arm64'): string | null {
  try {
    return createRequire(join(packageDirectory, 'package.json')).resolve(
      `sqlite-vec-linux-${architecture}/vec0.so`,
    )
  } catch {
    return packedFile(fs, packageDirectory, `vectors-${architecture}/vec0.so`)
  }
}

/** Returns a Node without symbols (116 MB, not 150) if this host can strip it, else unchanged. Cached by version. */
export async function strippedNode(
  node: PinnedNode,
  options: { readonly cacheDirectory: string },
): Promise<string> {
  const stripped = join(options.cacheDirectory, `node-${node.version}-stripped`)
  if (await exists(stripped)) return stripped
  await mkdir(options.cacheDirectory, { recursive: true })
  const temporary = `${stripped}.${process.pid}`
  try {
    const done = await runCommand('strip', ['-o', temporary, node.binary], { timeoutMs: stripTimeoutMs })
    if (done.code !== 0) return node.binary
    await moveIntoPlace(temporary, stripped)
    return stripped
  } finally {
    await rm(temporary, { force: true })
  }
}

interface ArchiveOptions {
  readonly cacheDirectory: string
  readonly progress: (step: string) => void
  readonly signal?: AbortSignal | undefined
}

/** Returns npm as one archive, packed by npm from the registry or, if that fails, from this host's own npm. */
export async function npmArchive(options: ArchiveOptions): Promise<string> {
  const own = async () => {
    const timing = { timeoutMs: packTimeoutMs, signal: options.signal }
    return join((await runCommand('npm', ['root', '--global'], timing)).stdout.trim(), 'npm')
  }
  return packageArchive({ ...options, name: 'npm', version: npmVersion, forWhom: 'the agents', own })
}

/** Returns Playwright as an archive, from the registry or, if that fails, from an installed copy, if any. */
export async function playwrightArchive(
  options: ArchiveOptions & { readonly packageDirectory: string },
): Promise<string> {
  const own = async () => join(options.packageDirectory, 'node_modules', playwrightName)
  const [name, version, forWhom] = [playwrightName, playwrightVersion, 'the browsers of agents']
  return packageArchive({ ...options, name, version, forWhom, own })
}

async function packageArchive({
  name,
  version,
  forWhom,
  own,
  ...options
}: ArchiveOptions & {
  readonly name: string
  readonly version: string
  readonly forWhom: string
  /** Finds a folder on this host with any version of the package, in case the registry cannot be reached. */
  readonly own: () => Promise<string>
}): Promise<string> {
  const archive = join(options.cacheDirectory, `${name}-${version}.tgz`)
  if (await exists(archive)) return archive
  // npm does not write atomically: an interrupted run would leave a partial archive under the final name.
  const unfinished = join(options.cacheDirectory, `pack-${name}-${process.pid}`)
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  options.progress(`Fetching ${name} ${version} for ${forWhom}`)
  const args = ['--pack-destination', unfinished, '--ignore-scripts', '--loglevel=error']
  const timing = { timeoutMs: packTimeoutMs, signal: options.signal }
  const place = async (file: string): Promise<string> => {
    const target = join(options.cacheDirectory, file)
    await moveIntoPlace(join(unfinished, file), target)
    return target
  }
  let fetched: CommandResult
  try {
    fetched = await runCommand('npm', ['pack', `${name}@${version}`, ...args], timing)
    if (fetched.code === 0 && (await exists(join(unfinished, basename(archive))))) {
      return await place(basename(archive))
    }
    const packed = await runCommand('npm', ['pack', await own(), ...args], timing)
    const file = packed.stdout.trim().split('\n').at(-1) ?? ''
    if (packed.code === 0 && /^[a-z-]+-[\d.]+\.tgz$/.test(file)) return await place(file)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  throw new SandboxError(
    'npm-unavailable',
    `${name} ${version} could not be fetched:\n${lastWords(fetched)}\nRepair: let npm reach its registry (npm view ${name}@${version} shows whether it does), then start again.`,
  )
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
