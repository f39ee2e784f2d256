import { readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { BuildOptions, Metafile, Plugin } from 'esbuild'

/** Build settings of every file of the agent; a change rebuilds all of them. */
export const bundleSettings = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node26',
  conditions: ['@flotilla/source'],
  minifyWhitespace: true,
  minifySyntax: true,
  minifyIdentifiers: false,
  sourcemap: false,
  legalComments: 'none',
  // Bundles a dynamic import as a `require` at that point, because Node's ES module loader would cost memory.
  supported: { 'dynamic-import': false },
  logLevel: 'silent',
} as const

export interface SplitFile {
  readonly name: string
  readonly content: Uint8Array
  /** Absolute paths of the source files that the bundle contains. */
  readonly inputs: readonly string[]
}

/** Folder beside the agent's entry; each of its files becomes a separate bundle, loaded at its first import. */
export const partsFolder = 'parts'

/**
 * Splits one program into two files. `agent.cjs` is what a start runs: the entry and its imports. `late.cjs`
 * contains all dynamic imports and is loaded with the first of them, so that a start does not read it.
 * Shared modules are in `agent.cjs` alone and `late.cjs` takes them from there, so that no class and no
 * state exists twice.
 */
export async function splitAgent(entry: string): Promise<readonly SplitFile[]> {
  const late = new Set<string>()
  const root = dirname(entry)
  const first = await make(entryOf(root, `import ${quoted(entry)}`), 'agent.cjs', [
    partsOutside(entry),
    lateOutside((path) => late.add(path)),
  ])
  if (late.size === 0) return [first.file]
  const mayShare = wholeModules(root, first.metafile, first.file.inputs)
  const shared = new Set<string>()
  const lateEntry = [...late]
    .toSorted()
    .map((path) => `${quoted(nameOf(entry, path))}: () => require(${quoted(path)})`)
    .join(',\n')
  const second = await make(entryOf(root, `exports.late = {\n${lateEntry}\n}`), 'late.cjs', [
    partsOutside(entry),
    fromStart(mayShare, (path) => {
      shared.add(path)
      return nameOf(entry, path)
    }),
  ])
  const whole = await make(entryOf(root, startEntry(entry, [...shared].toSorted())), 'agent.cjs', [
    partsOutside(entry),
    lateOutside((path) => nameOf(entry, path)),
  ])
  await refuseTwins(usedIn(root, whole.metafile), usedIn(root, second.metafile))
  return [whole.file, second.file]
}

/**
 * Rejects a module of this project with a class that is in both files: the class would exist twice, and `instanceof`
 * would fail across the two.
 */
async function refuseTwins(first: ReadonlySet<string>, second: ReadonlySet<string>): Promise<void> {
  for (const path of first) {
    if (path === ownEntry || !second.has(path) || path.includes('/node_modules/')) continue
    if (!/^(?:export )?(?:abstract )?class /m.test(await readFile(path, 'utf8'))) continue
    throw new Error(
      `${path} has a class and would be in both halves of the agent, since the start takes only some names of a module that it imports: let it import from modules that the start takes whole`,
    )
  }
}

/** Returns the paths of the modules that contribute code to the output. */
function usedIn(root: string, metafile: Metafile): ReadonlySet<string> {
  const used = new Set<string>()
  for (const output of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      if (bytesInOutput > 0) used.add(resolve(root, path))
    }
  }
  return used
}

/** Bundles a library as a separate file and returns the file. */
export async function bundlePart(source: string, name: string): Promise<SplitFile> {
  return (await make(entryOf(dirname(source), `module.exports = require(${quoted(source)})`), name, [])).file
}

/** Returns code that loads the shared modules before the entry, which may already run when `late.cjs` needs them. */
function startEntry(entry: string, shared: readonly string[]): string {
  const imports = shared.map((path, at) => `import * as shared${at} from ${quoted(path)}`)
  const members = shared.map((path, at) => `${quoted(nameOf(entry, path))}: shared${at}`)
  return [...imports, `export const shared = {${members.join(', ')}}`, `import ${quoted(entry)}`].join('\n')
}

/**
 * Returns the modules of `agent.cjs` that are bundled whole, with all their imports. Of other modules only some names
 * are used; bundling those whole would add their imports to `agent.cjs`.
 */
function wholeModules(root: string, metafile: Metafile, inputs: readonly string[]): ReadonlySet<string> {
  const used = usedIn(root, metafile)
  const importsOf = new Map(
    Object.entries(metafile.inputs).map(([path, { imports }]) => [
      resolve(root, path),
      imports.filter(({ kind, external }) => kind === 'import-statement' && external !== true),
    ]),
  )
  const whole = new Set(inputs.filter((path) => used.has(path)))
  for (let before = -1; before !== whole.size;) {
    before = whole.size
    for (const path of whole) {
      const imports = importsOf.get(path) ?? []
      if (imports.some((imported) => !whole.has(resolve(root, imported.path)))) whole.delete(path)
    }
  }
  return whole
}

/** Leaves a dynamic import of a file in `parts/` as an import of that part's separate bundle. */
function partsOutside(entry: string): Plugin {
  const root = dirname(entry)
  return {
    name: 'parts stay outside',
    setup: (build) => {
      build.onResolve({ filter: /\/parts\/[a-z-]+\.ts$/ }, ({ path, resolveDir, kind }) => {
        const inside = relative(root, join(resolveDir, path))
        if (dirname(inside) !== partsFolder) return null
        if (kind !== 'dynamic-import' && kind !== 'require-call') {
          return { errors: [{ text: `${inside} is a part: import it late, with await import()` }] }
        }
        return { path: `./${partsFolder}/${basename(inside, '.ts')}.cjs`, external: true }
      })
    },
  }
}

/**
 * Turns each dynamic import into access to a member of `late.cjs`. `nameOfMember` receives the path of the imported
 * module and may return the member's name.
 */
function lateOutside(nameOfMember: (path: string) => unknown): Plugin {
  return {
    name: 'late imports stay outside',
    setup: (build) => {
      build.onResolve({ filter: /.*/ }, async ({ path, resolveDir, kind, importer, pluginData }) => {
        if (kind !== 'dynamic-import' || pluginData === resolving) return null
        const found = await build.resolve(path, { resolveDir, kind, importer, pluginData: resolving })
        if (found.external || found.errors.length > 0) return null
        const name = nameOfMember(found.path)
        return { path: String(name), namespace: 'late', pluginData: resolving }
      })
      build.onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
        contents: `module.exports = require('./late.cjs').late[${quoted(path)}]()`,
        resolveDir: '/',
        loader: 'js',
      }))
      build.onResolve({ filter: /^\.\/late\.cjs$/ }, ({ path }) => ({ path, external: true }))
    },
  }
}

const resolving = { resolving: true }

/** Replaces imports of modules that `agent.cjs` already contains with access to the copy in `agent.cjs`. */
function fromStart(shared: ReadonlySet<string>, nameFor: (path: string) => string): Plugin {
  return {
    name: 'shared modules come from the start',
    setup: (build) => {
      build.onResolve({ filter: /.*/ }, async ({ path, resolveDir, kind, importer, pluginData }) => {
        if (pluginData === resolving || kind === 'entry-point') return null
        const found = await build.resolve(path, { resolveDir, kind, importer, pluginData: resolving })
        if (found.external || !shared.has(found.path)) return null
        return { path: nameFor(found.path), namespace: 'shared', pluginData: resolving }
      })
      // A separate namespace is needed: under its own path the module would be treated as an ES module, which has no
      // `module.exports`.
      build.onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => ({
        contents: `module.exports = require('./agent.cjs').shared[${quoted(path)}]`,
        resolveDir: '/',
        loader: 'js',
      }))
      build.onResolve({ filter: /^\.\/agent\.cjs$/ }, ({ path }) => ({ path, external: true }))
    },
  }
}

/** A virtual file name for generated code: esbuild reads no such file, and no package.json sets its module type. */
const ownEntry = '/entry.js'

/** `absWorkingDir`: the folder to which the names of sources in the output are relative. */
type Entry = Pick<BuildOptions, 'stdin'> & { readonly absWorkingDir: string }

function entryOf(absWorkingDir: string, contents: string): Entry {
  return { absWorkingDir, stdin: { contents, resolveDir: '/', sourcefile: ownEntry, loader: 'js' } }
}

/**
 * Runs esbuild, which writes source paths into the output as names of CommonJS modules. The paths are relative to the
 * entry's folder, so the output and the image are the same on every machine.
 */
async function make(
  entry: Entry,
  name: string,
  plugins: Plugin[],
): Promise<{ readonly file: SplitFile; readonly metafile: Metafile }> {
  const { build } = await import('esbuild')
  const { conditions, ...settings } = bundleSettings
  const built = await build({
    ...entry,
    ...settings,
    conditions: [...conditions],
    metafile: true,
    write: false,
    plugins,
  })
  const inputs = Object.keys(built.metafile.inputs)
    .filter((path) => !/^(?:late|shared):/.test(path))
    .map((path) => resolve(entry.absWorkingDir, path))
    .filter((path) => path !== ownEntry)
  const content = built.outputFiles?.[0]?.contents ?? new Uint8Array()
  return { file: { name, content, inputs }, metafile: built.metafile }
}

/** Returns a source's path relative to the entry, so that equal programs give equal files on every machine. */
function nameOf(entry: string, path: string): string {
  return relative(dirname(entry), path)
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
