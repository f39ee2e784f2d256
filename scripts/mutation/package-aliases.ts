import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The target of an import of a package, in the form that vite reads. */
export interface PackageAlias {
  readonly find: RegExp
  readonly replacement: string
}

/**
 * Returns an alias for each export of each package below `root`, so that imports resolve to the packages of that
 * tree. The links in node_modules would resolve to the packages outside of the copied tree, which have no mutants.
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
