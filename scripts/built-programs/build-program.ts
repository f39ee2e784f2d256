import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { programsFolder, stampOf } from '@flotilla/protocol/built-program'
import type { BuildName, FileStamp, ProgramName, ProgramRecord } from '@flotilla/protocol/built-program'
import { build } from 'esbuild'
import type { Plugin } from 'esbuild'
import { placesHere, readSources } from './read-sources.ts'
import type { Places } from './read-sources.ts'

/**
 * Bundles one program and its imports into files in its own folder, named by their content hash, and then writes
 * the record with which the next start uses them. Dynamic imports stay separate files. Rejects with the errors of
 * the bundler.
 */
export async function buildProgram(root: string, name: ProgramName): Promise<ProgramRecord> {
  const inputs = new Map<string, FileStamp>()
  for (const file of [join(root, 'package-lock.json'), import.meta.filename]) {
    inputs.set(file, existing(file))
  }
  const outputFiles = await bundleProgram(root, join(root, 'packages', name, 'src', 'main.ts'), {
    onRead: (file) => {
      // The first read counts: a source that changes from then on makes the build outdated.
      if (file.startsWith(join(root, 'packages')) && !inputs.has(file)) inputs.set(file, existing(file))
    },
  })
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }))
  if (name === 'cli') files.push(...(await writtenTexts()))
  return recordBuild(root, { name, main: 'main.mjs', files, inputs })
}

/** Texts that would load every command: the help of each, and the script with which a shell completes them. */
export async function writtenTexts(): Promise<Build['files']> {
  // Imported only here, since a build of the mesh alone needs no commands of the terminal.
  const { bareProgram, wholeProgram } = await import('./whole-program.ts')
  const { helpFiles } = await import('../../packages/cli/src/reference/help-files.ts')
  const files = await helpFiles((meant, out) => (meant === 'all' ? wholeProgram(out) : bareProgram(out)))
  const { completionScripts, completionsFile } = await import('../../packages/cli/src/commands/completion.ts')
  const completions = JSON.stringify(await completionScripts(await wholeProgram()))
  return [
    ...files.map(({ name, contents }) => ({ name: `help/${name}`, contents: Buffer.from(contents) })),
    { name: completionsFile, contents: Buffer.from(completions) },
  ]
}

/** CommonJS modules call `require`, which an ES module does not have. */
const requireBanner =
  "import { createRequire as requireOfThis } from 'node:module'; const require = requireOfThis(import.meta.url);"

/** Telegram's library names a JavaScript file without its extension, so it looks like a native module. */
const telegramPlatform: Plugin = {
  name: 'telegram-platform',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/platform\.node$/ }, ({ resolveDir }) => ({
      path: join(resolveDir, 'platform.node.js'),
    }))
  },
}

/**
 * Takes the global `process` in the place of the module `node:process`: to import that module, Node reads each of its
 * members, among them a table of all of Node's options that costs every start some ten milliseconds.
 */
const globalProcess: Plugin = {
  name: 'global-process',
  setup: ({ onLoad, onResolve }) => {
    const namespace = 'global-process'
    onResolve({ filter: /^(?:node:)?process$/ }, ({ path }) => ({ path, namespace }))
    onLoad({ filter: /.*/, namespace }, () => ({ contents: 'module.exports = globalThis.process' }))
  },
}

/**
 * Loads the HTTP server's library with the first server. A program imports it with the words for errors, and commands
 * that open no server start a quarter faster without it.
 */
const lateServer: Plugin = {
  name: 'late-server',
  setup: ({ onLoad, onResolve }) => {
    const namespace = 'late-server'
    onResolve({ filter: /^fastify$/ }, ({ kind, path, resolveDir }) =>
      kind === 'import-statement' ? { path, namespace, pluginData: resolveDir } : null,
    )
    onLoad({ filter: /./, namespace }, ({ path, pluginData }) => ({
      contents: `module.exports = (options) => require(${JSON.stringify(path)})(options)`,
      resolveDir: String(pluginData),
    }))
  },
}

/**
 * Bundles one program into ES modules in memory. `banner` is the first line of each file and defines the variables
 * of `places`.
 */
export async function bundleProgram(
  root: string,
  entry: string,
  {
    onRead = () => undefined,
    places = placesHere,
    banner = '',
  }: {
    readonly onRead?: (file: string) => void
    readonly places?: Places
    readonly banner?: string
  },
): Promise<readonly { readonly path: string; readonly contents: Uint8Array }[]> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Otherwise these patterns become calls of `RegExp`, which compile them at the start of each command.
    supported: { 'regexp-set-notation': true, 'regexp-unicode-property-escapes': true },
    outdir: join(root, programsFolder),
    outExtension: { '.js': '.mjs' },
    banner: { js: requireBanner + banner },
    // Its CommonJS form calls `require` under another name, which no bundler can follow.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    external: ['esbuild', 'cpu-features', '*.node'],
    plugins: [telegramPlatform, globalProcess, lateServer, readSources(onRead, places)],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles
}

/** The result of a build, in memory: names are relative to the build's folder. */
export interface Build {
  readonly name: BuildName
  /** The name of the entry file. */
  readonly main: string
  readonly files: readonly { readonly name: string; readonly contents: Uint8Array }[]
  readonly inputs: ReadonlyMap<string, FileStamp>
}

/** Writes a build, and then the record with which the next start uses it. */
export function recordBuild(root: string, build: Build): ProgramRecord {
  const folder = writeBuild(root, build)
  const outputs = build.files.map((file) => join(folder, file.name))
  const record: ProgramRecord = {
    root,
    main: join(folder, build.main),
    inputs: Object.fromEntries(build.inputs),
    outputs: Object.fromEntries(outputs.map((file) => [file, existing(file)])),
  }
  const path = join(root, programsFolder, `${build.name}.json`)
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(record))
  renameSync(`${path}.${process.pid}`, path)
  return record
}

/**
 * Renames the complete folder into its place. If a concurrent build has written the same folder, that one is used.
 */
function writeBuild(root: string, built: Pick<Build, 'name' | 'files'>): string {
  const digest = createHash('sha256')
  for (const { name, contents } of built.files) digest.update(name).update(contents)
  const folder = join(root, programsFolder, `${built.name}-${digest.digest('hex').slice(0, 16)}`)
  const temporary = `${folder}.${process.pid}`
  for (const { name, contents } of built.files) {
    mkdirSync(dirname(join(temporary, name)), { recursive: true })
    writeFileSync(join(temporary, name), contents)
  }
  if (isWhole(folder, built.files)) {
    // The modification time is updated, because the newest builds are kept.
    utimesSync(folder, new Date(), new Date())
    rmSync(temporary, { recursive: true, force: true })
    return folder
  }
  rmSync(folder, { recursive: true, force: true })
  try {
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    if (!isWhole(folder, built.files)) throw error
  }
  return folder
}

function isWhole(folder: string, files: Build['files']): boolean {
  return (
    existsSync(folder) &&
    files.every(({ name, contents }) => stampOf(fs, join(folder, name))?.[0] === contents.length)
  )
}

export function existing(file: string): FileStamp {
  const stamp = stampOf(fs, file)
  if (stamp === null) throw new Error(`${file} went away while it was built`)
  return stamp
}
