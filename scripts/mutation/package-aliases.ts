import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where an import of a package leads, in the form that vite reads. */
export interface PackageAlias {
  readonly find: RegExp
  readonly replacement: string
}

/**
 * Returns an alias for each export of each package below `root`, so that imports lead to the packages of that tree.
 * The links in node_modules would lead out of a copy, to the packages without mutants.
 */
export function packageAliases(root: string): readonly PackageAlias[] {
  return globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      readonly name: string
      readonly exports?: Readonly<Record<string, string>>
    }
    return Object.entries(exports).map(([entry, target]) => ({
      find: new RegExp(`^${name}${entry.slice(1).replace('*', '(.+)')}$`),
      replacement: join(root, dirname(file), target).replace('*', '$1'),
    }))
  })
}
