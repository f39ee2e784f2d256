import type { PackageLock } from '../package-lock.ts'

/** A package as `list.sh` prints it. */
export interface ListedPackage {
  readonly kind: 'apt' | 'npm' | 'pip'
  readonly name: string
  readonly version: string
  /** Name of the downloaded file; empty for an installed package. */
  readonly file: string
  readonly sha256: string
  /** Size of the downloaded file, in bytes; null for an installed package. */
  readonly bytes: number | null
}

/** Parses the lines of `list.sh`; other lines are skipped. Pure. */
export function readList(output: string): readonly ListedPackage[] {
  return output.split('\n').flatMap((line) => {
    const [kind, name, version, file = '', sha256 = '', size = ''] = line.split('\t')
    if (kind !== 'apt' && kind !== 'npm' && kind !== 'pip') return []
    return name && version
      ? [{ kind, name: kind === 'pip' ? pipName(name) : name, version, file, sha256, bytes: sizeOf(size) }]
      : []
  })
}

/** Returns a size in bytes; null for a text without one. Pure. */
export function sizeOf(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** Returns the name as the index spells it: names that differ only in `-`, `_`, `.` and case are equal. Pure. */
export function pipName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-')
}

/** Returns the packages of a lock that an image does not have in the locked version. Pure. */
export function absentFrom(installed: readonly ListedPackage[], lock: PackageLock): readonly string[] {
  const present = new Set(installed.map(({ kind, name, version }) => `${kind} ${name} ${version}`))
  return (['apt', 'pip'] as const).flatMap((kind) =>
    lock[kind]
      .filter(({ name, version }) => !present.has(`${kind} ${name} ${version}`))
      .map(({ name, version }) => `${name} ${version}`),
  )
}
