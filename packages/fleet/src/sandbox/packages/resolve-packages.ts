import type { ResolvedFile, ResolvedPackages, ResolvePackages } from '../package-images.ts'
import type { PackageLock } from '../package-lock.ts'
import { SandboxError } from '../sandbox-error.ts'
import { besideAgents } from '../sandbox-spec.ts'
import type { BuildContainer } from './build-container.ts'
import { mustRun } from './build-steps.ts'
import type { DeriveBase, DeriveOptions, Derivation } from './derivation.ts'
import { withPackages } from './fetch-packages.ts'
import { readList, sizeOf } from './read-list.ts'

/** Chooses versions of packages, downloads them, and keeps only their lock. */
export async function resolvePackages(
  options: DeriveOptions,
  base: DeriveBase,
  of: Pick<Derivation, 'packages' | 'signal'> & Omit<ResolvePackages, 'signal'>,
): Promise<ResolvedPackages> {
  const { packages, timeoutMs, downloadMaxBytes } = of
  const signal = AbortSignal.any([of.signal, AbortSignal.timeout(timeoutMs)])
  const derivation = {
    base,
    packages,
    lock: null,
    progress: () => {},
    signal,
    downloadMaxBytes,
    memoryBytes: besideAgents.choice,
  }
  return withPackages(options, derivation, async ({ container, lock, registries }) => ({
    lock,
    files: await filesOf(container, lock),
    registries: registries
      .addresses()
      .filter(({ kind }) => packages[kind].length > 0)
      .map(({ kind, address }) => `${kind} ${address}`),
  })).catch((error: unknown) => {
    of.signal.throwIfAborted()
    if (!signal.aborted) throw error
    throw new SandboxError(
      'packages-late',
      `The packages were not found and downloaded within ${Math.ceil(timeoutMs / 60_000)} minutes.\nRepair: ask for fewer packages, or check whether this machine reaches its package registries.`,
      { cause: error },
    )
  })
}

async function filesOf(container: BuildContainer, lock: PackageLock): Promise<readonly ResolvedFile[]> {
  const list = (what: string) => mustRun(container, ['sh', '/fetch/recipe/list.sh', what])
  const bytesOf = new Map(
    readList(await list('fetched')).map(({ kind, file, bytes }) => [`${kind} ${file}`, bytes]),
  )
  const sizes = lock.npm.length === 0 ? '' : await list('npm-sizes')
  for (const line of sizes.split('\n')) {
    const [integrity = '', size = ''] = line.split('\t')
    bytesOf.set(`npm ${integrity}`, sizeOf(size))
  }
  const files = (['apt', 'pip'] as const).flatMap((kind) =>
    lock[kind].map(({ name, version, file, sha256 }) => ({
      kind,
      name,
      version,
      digest: `sha256:${sha256}`,
      bytes: bytesOf.get(`${kind} ${file}`) ?? null,
    })),
  )
  const ofNpm = lock.npm.map(({ name, version, integrity }) => ({
    kind: 'npm' as const,
    name,
    version,
    digest: integrity,
    bytes: bytesOf.get(`npm ${integrity}`) ?? null,
  }))
  return [...files, ...ofNpm]
}
