import { access, mkdir, rename, rm } from 'node:fs/promises'
import * as fs from 'node:fs'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'
import * as z from 'zod'
import { lastWords, runCommand } from '../run-command.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'

/** The npm that agents have. Node's own package for the image carries none. */
export const npmVersion = '11.19.1'

const stripTimeoutMs = 60_000
const packTimeoutMs = 120_000

export interface PinnedNode {
  readonly binary: string
  readonly version: string
}

/** The Node that the lock file pins, for the engine's architecture, as a package from the registry. */
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
 * SQLite's vector search for the engine's architecture, which an agent's memory loads; null where its package is not
 * installed, and memory then searches by words alone.
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

/** The binary without symbols where this host can strip (150 → 116 MB), else as it is. Cached by version. */
export async function strippedNode(
  node: PinnedNode,
  options: { readonly cacheDirectory: string },
): Promise<string> {
  const stripped = join(options.cacheDirectory, `node-${node.version}-stripped`)
  if (await exists(stripped)) return stripped
  await mkdir(options.cacheDirectory, { recursive: true })
  const temporary = `${stripped}.${process.pid}`
  const done = await runCommand('strip', ['-o', temporary, node.binary], { timeoutMs: stripTimeoutMs })
  if (done.code !== 0) {
    await rm(temporary, { force: true })
    return node.binary
  }
  await rename(temporary, stripped)
  return stripped
}

/** npm as one archive, from the registry through npm itself; where that fails, this host's own npm, packed. */
export async function npmArchive(options: {
  readonly cacheDirectory: string
  readonly progress: (step: string) => void
  readonly signal?: AbortSignal | undefined
}): Promise<string> {
  const archive = join(options.cacheDirectory, `npm-${npmVersion}.tgz`)
  if (await exists(archive)) return archive
  await mkdir(options.cacheDirectory, { recursive: true })
  options.progress(`Fetching npm ${npmVersion} for the agents`)
  const args = ['--pack-destination', options.cacheDirectory, '--ignore-scripts', '--loglevel=error']
  const timing = { timeoutMs: packTimeoutMs, signal: options.signal }
  const fetched = await runCommand('npm', ['pack', `npm@${npmVersion}`, ...args], timing)
  if (fetched.code === 0 && (await exists(archive))) return archive
  const globals = (await runCommand('npm', ['root', '--global'], timing)).stdout.trim()
  const packed = await runCommand('npm', ['pack', join(globals, 'npm'), ...args], timing)
  const name = packed.stdout.trim().split('\n').at(-1) ?? ''
  if (packed.code === 0 && /^npm-[\d.]+\.tgz$/.test(name)) return join(options.cacheDirectory, name)
  throw new SandboxError(
    'npm-unavailable',
    `npm ${npmVersion} could not be fetched:\n${lastWords(fetched)}\nRepair: npm pack npm@${npmVersion}`,
  )
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
