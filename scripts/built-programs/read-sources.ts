import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'

/** The JavaScript expressions that give a source its own path and its own URL. */
export interface Places {
  readonly path: (path: string) => string
  readonly url: (path: string) => string
  /** Changes the text of a source, where a name in it must refer to another file. */
  readonly rewrite?: (source: string) => string
}

/** Locations on this machine. */
export const placesHere: Places = {
  path: (path) => JSON.stringify(path),
  url: (path) => JSON.stringify(pathToFileURL(path).href),
}

/**
 * Reads every source for the bundler and calls `onRead` before each. A source that reads its own location gets the
 * path of the source, not that of the bundle.
 */
export function readSources(onRead: (file: string) => void, places: Places = placesHere): Plugin {
  return {
    name: 'read-sources',
    setup: (hooks) => {
      // As an ES module, `node:http` is read with all its exports at once, which loads Node's own undici.
      hooks.onResolve({ filter: /^(?:node:)?http$/ }, ({ path, kind }) =>
        // A dynamic import expects named exports, which the CommonJS form does not have.
        kind === 'dynamic-import' ? { path, external: true } : { path, namespace: 'late-builtin' },
      )
      hooks.onLoad({ filter: /./, namespace: 'late-builtin' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
      }))
      hooks.onLoad({ filter: /\.(?:ts|js|cjs|mjs)$/ }, ({ path }) => {
        onRead(path)
        const read = readFileSync(path, 'utf8')
        const source = places.rewrite?.(read) ?? read
        return path.endsWith('.ts')
          ? { contents: withPlace(source, path, places), loader: 'ts' }
          : { contents: withOlderPlace(source, path, places), loader: 'js' }
      })
    },
  }
}

/** Only for sources of this project, which use `import.meta` in code and not in strings. */
export function withPlace(source: string, path: string, places: Places = placesHere): string {
  return source
    .replaceAll(/\bimport\.meta\.dirname\b/g, () => places.path(dirname(path)))
    .replaceAll(/\bimport\.meta\.filename\b/g, () => places.path(path))
    .replaceAll(/\bimport\.meta\.url\b/g, () => places.url(path))
}

/** For CommonJS packages: defines the two names, unless the source defines them itself. */
export function withOlderPlace(source: string, path: string, places: Places = placesHere): string {
  const asked = ['__dirname', '__filename'].filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(source) &&
      !new RegExp(`\\b(?:const|let|var)\\s+${name}\\b`).test(source),
  )
  if (asked.length === 0) return source
  const older = { __dirname: dirname(path), __filename: path }
  const names = Object.entries(older).filter(([name]) => asked.includes(name))
  const declared = names.map(([name, place]) => `${name} = ${places.path(place)}`).join(', ')
  const isStrict = /^(?:#!.*\n)?(?:\s|\/\/.*\n|\/\*[^]*?\*\/)*['"]use strict['"]/.test(source)
  return `${isStrict ? "'use strict'; " : ''}var ${declared};\n${source.replace(/^#!.*\n/, '')}`
}
