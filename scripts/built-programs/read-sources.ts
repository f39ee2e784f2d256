import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'

/**
 * Reads every source for the bundler; `onRead` hears of each just before. One that asks where it lies is told its own
 * place, and not that of the file it goes into.
 */
export function readSources(onRead: (file: string) => void): Plugin {
  return {
    name: 'read-sources',
    setup: (hooks) => {
      // Imported as an ES module it reads each of its exports at once, and among them Node's own undici.
      hooks.onResolve({ filter: /^(?:node:)?http$/ }, ({ path }) => ({ path, namespace: 'late-builtin' }))
      hooks.onLoad({ filter: /./, namespace: 'late-builtin' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
      }))
      hooks.onLoad({ filter: /\.(?:ts|js|cjs|mjs)$/ }, ({ path }) => {
        onRead(path)
        const source = readFileSync(path, 'utf8')
        return path.endsWith('.ts')
          ? { contents: withPlace(source, path), loader: 'ts' }
          : { contents: withOlderPlace(source, path), loader: 'js' }
      })
    },
  }
}

/** Of ours, which say `import.meta` in code alone. */
export function withPlace(source: string, path: string): string {
  return source
    .replaceAll(/\bimport\.meta\.dirname\b/g, () => JSON.stringify(dirname(path)))
    .replaceAll(/\bimport\.meta\.filename\b/g, () => JSON.stringify(path))
    .replaceAll(/\bimport\.meta\.url\b/g, () => JSON.stringify(pathToFileURL(path).href))
}

/** Of others' in the older form: they are given the two names, unless they make them themselves. */
export function withOlderPlace(source: string, path: string): string {
  const asked = ['__dirname', '__filename'].filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(source) &&
      !new RegExp(`\\b(?:const|let|var)\\s+${name}\\b`).test(source),
  )
  if (asked.length === 0) return source
  const places = { __dirname: dirname(path), __filename: path }
  const names = Object.entries(places).filter(([name]) => asked.includes(name))
  const declared = names.map(([name, place]) => `${name} = ${JSON.stringify(place)}`).join(', ')
  const isStrict = /^(?:#!.*\n)?(?:\s|\/\/.*\n|\/\*[^]*?\*\/)*['"]use strict['"]/.test(source)
  return `${isStrict ? "'use strict'; " : ''}var ${declared};\n${source.replace(/^#!.*\n/, '')}`
}
