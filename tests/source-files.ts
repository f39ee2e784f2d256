import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export const repositoryRoot = join(import.meta.dirname, '..')

export interface SourceFile {
  /** Path from the repository's root, with slashes. */
  readonly path: string
  readonly text: string
  readonly isTest: boolean
  readonly imports: readonly {
    readonly specifier: string
    readonly typeOnly: boolean
    /** True for an import that is loaded when a function calls it. */
    readonly onUse: boolean
  }[]
}

const importPattern =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm

/** Every TypeScript file of the packages, the tests, the scripts and the benches. */
export function readSourceFiles(): readonly SourceFile[] {
  const folders = ['packages', 'tests', 'scripts', 'bench']
  return folders
    .flatMap((folder) => walk(join(repositoryRoot, folder)))
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      return {
        path: relative(repositoryRoot, path),
        text,
        isTest:
          /\.(?:test|conformance)\.ts$|\/testing\//.test(path) ||
          relative(repositoryRoot, path).startsWith('tests/'),
        imports: [...text.matchAll(importPattern)].map((match) => ({
          specifier: match[2] ?? match[3] ?? '',
          typeOnly: match[1] !== undefined,
          onUse: match[3] !== undefined,
        })),
      }
    })
}

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'dist' ? [] : walk(path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}

/** What a file does, without what it says of it. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}
