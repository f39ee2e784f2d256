import { posix } from 'node:path'
import { meshModules } from './architecture-rules.ts'
import { meshPackages } from './package-rules.ts'
import { readSourceFiles } from './source-files.ts'

/** All files of the repository with their imports, and what each file belongs to. */

export const files = readSourceFiles()
export const sources = files.filter((file) => !file.isTest && file.path.startsWith('packages/'))

/** The path of the imported file; the name of the package for an import from outside. */
export function resolved(from: string, specifier: string): string {
  const own = /^@flotilla\/(\w+)(?:\/(.+))?$/.exec(specifier)
  if (own) {
    const [, name = '', entry] = own
    return meshPackages.some((one) => one.name === name)
      ? posix.join('packages', name, 'src', entry ?? '', 'index.ts')
      : `packages/${name}/src/${entry}.ts`
  }
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier
}

export const imports = sources.flatMap((file) =>
  file.imports.map((one) => ({
    from: file.path,
    to: resolved(file.path, one.specifier),
    typeOnly: one.typeOnly,
    onUse: one.onUse,
  })),
)

export function packageOf(path: string): string | undefined {
  return /^packages\/(\w+)\//.exec(path)?.[1]
}

export const meshNames = meshPackages.map(({ name }) => name)
export const isOfMesh = (path: string): boolean => meshNames.includes(packageOf(path) ?? '')
export const moduleFolders = meshModules.map(({ folder }) => folder)

/** The module that a file of the mesh belongs to; `main.ts` belongs to none. */
export function moduleOf(path: string): string | undefined {
  return moduleFolders.find((folder) => path.startsWith(`${folder}/`))
}
