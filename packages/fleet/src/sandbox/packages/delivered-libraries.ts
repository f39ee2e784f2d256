import type { BuildContainer } from './build-container.ts'
import { mustRun } from './build-steps.ts'
import { ownerOfLibrary } from './trusted-places.ts'

/**
 * The libraries of Node in the downloaded archives of their own packages: by path without `usr/` at its beginning, the
 * SHA-256 digest of the file in hexadecimal, or the target of the link.
 */
export type DeliveredLibraries = ReadonlyMap<string, string>

/** Reads the archives. Must run before any program of a package, which could change the programs that read them. */
export async function deliveredLibraries(container: BuildContainer): Promise<DeliveredLibraries> {
  return readLibraries(await mustRun(container, ['sh', '/fetch/recipe/list.sh', 'libraries']))
}

/** Reads lines of a path and a digest or target, separated by a tab. Pure. */
export function readLibraries(output: string): DeliveredLibraries {
  return new Map(
    output.split('\n').flatMap((line) => {
      const [path = '', content = ''] = line.split('\t')
      const isNeeded = content !== '' && ownerOfLibrary(`/${path}`) !== null
      return isNeeded ? [[libraryPath(path), content] as const] : []
    }),
  )
}

/** Returns the path by which a library is known, whether its folder is below `/usr` or linked to there. Pure. */
export function libraryPath(path: string): string {
  return path.replace(/^\/?(?:usr\/)?/, '')
}
