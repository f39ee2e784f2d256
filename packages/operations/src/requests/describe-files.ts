import { visible } from '@flotilla/protocol/shown-text'
import type { PackageLock, ResolvedPackages } from '@flotilla/fleet/sandbox'

export interface ChangedFiles {
  /** One line for each file that the image gets, also in another version, and for each that it loses. */
  readonly lines: readonly string[]
  /** The size of the files that the image gets, in bytes, as far as it is known. */
  readonly bytes: number
}

/** Compares the files of a lock with those of the agent's lock before; null if it had none. Pure. */
export function changedFiles(
  { files }: Pick<ResolvedPackages, 'files'>,
  before: PackageLock | null,
): ChangedFiles {
  const had = new Map<string, string>()
  for (const kind of ['apt', 'pip'] as const)
    for (const { name, version, sha256 } of before?.[kind] ?? [])
      had.set(`${kind} ${name} ${version}`, `sha256:${sha256}`)
  for (const { name, version, integrity } of before?.npm ?? []) had.set(`npm ${name} ${version}`, integrity)
  const has = new Set(files.map(({ kind, name, version }) => `${kind} ${name} ${version}`))
  const added = files.filter(
    ({ kind, name, version, digest }) => had.get(`${kind} ${name} ${version}`) !== digest,
  )
  const lost = [...had.keys()].filter((one) => !has.has(one))
  return {
    lines: [
      ...added.map(
        ({ kind, name, version, digest, bytes }) =>
          `adds ${kind} ${name} ${version}, ${bytes === null ? 'size unknown' : `${bytes} bytes`}, ${digest}`,
      ),
      ...lost.map((one) => `removes ${one}`),
    ].map(visible),
    bytes: added.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
  }
}
