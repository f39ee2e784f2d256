import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type { OutputFile, Plugin } from 'esbuild'
import { programsFolder, stampOf } from '../../packages/protocol/src/built-program.ts'
import type { ProgramName, ProgramRecord, SourceStamp } from '../../packages/protocol/src/built-program.ts'

/** A program that runs may load a part late, so the folders of the last builds stay. */
const buildsKept = 5

/**
 * Joins one program and what it imports into files of its own folder, named by their content, and then writes the record
 * that makes the next start take them. What is imported late stays apart and late. Rejects with what the bundler met.
 */
export async function buildProgram(root: string, name: ProgramName): Promise<ProgramRecord> {
  const entry = join(root, 'packages', name, 'src', 'run-command-line.ts')
  const inputs = new Map<string, SourceStamp>()
  remember(inputs, join(root, 'package-lock.json'))
  remember(inputs, import.meta.filename)
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outdir: join(root, programsFolder),
    outExtension: { '.js': '.mjs' },
    entryNames: '[name]',
    // Modules of the older form call for `require`, which an ES module has none of.
    banner: {
      js: "import { createRequire as requireOfThis } from 'node:module'; const require = requireOfThis(import.meta.url);",
    },
    // It says `require` under another name in its older form, which no bundler can follow.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    external: ['esbuild', 'cpu-features', '*.node'],
    plugins: [readSources(join(root, 'packages'), inputs)],
    write: false,
    logLevel: 'silent',
  })
  await writeLauncher(root, { name, inputs })
  const folder = writeBuild(root, { name, outputFiles })
  const record: ProgramRecord = {
    root,
    module: join(folder, `${basename(entry, '.ts')}.mjs`),
    inputs: Object.fromEntries(inputs),
  }
  writeWhole(join(root, programsFolder, `${name}.json`), JSON.stringify(record))
  forgetOldBuilds(root, name)
  return record
}

/**
 * Reads every source, and writes down of ours how it was just before. One that asks where it lies is told its own place,
 * not that of the file it goes into.
 */
function readSources(own: string, inputs: Map<string, SourceStamp>): Plugin {
  return {
    name: 'read-sources',
    setup: (hooks) => {
      // Imported as an ES module it reads each of its exports at once, and among them Node's own undici.
      hooks.onResolve({ filter: /^(?:node:)?http$/ }, ({ path }) => ({ path, namespace: 'late-builtin' }))
      hooks.onLoad({ filter: /./, namespace: 'late-builtin' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
      }))
      hooks.onLoad({ filter: /\.(?:ts|js|cjs|mjs)$/ }, ({ path }) => {
        if (path.startsWith(`${own}${sep}`)) remember(inputs, path)
        const contents = readFileSync(path, 'utf8')
          .replaceAll(/\b__dirname\b|\bimport\.meta\.dirname\b/g, () => JSON.stringify(dirname(path)))
          .replaceAll(/\b__filename\b|\bimport\.meta\.filename\b/g, () => JSON.stringify(path))
          .replaceAll(/\bimport\.meta\.url\b/g, () => JSON.stringify(pathToFileURL(path).href))
        return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
      })
    },
  }
}

function remember(inputs: Map<string, SourceStamp>, file: string): void {
  const stamp = stampOf(fs, file)
  if (stamp === null) throw new Error(`${file} went away while it was built`)
  inputs.set(file, stamp)
}

/** Whole under its name or not at all; one that made the same beside us did it for both. */
function writeBuild(
  root: string,
  built: { readonly name: ProgramName; readonly outputFiles: readonly OutputFile[] },
): string {
  const digest = createHash('sha256')
  for (const { path, contents } of built.outputFiles) digest.update(basename(path)).update(contents)
  const folder = join(root, programsFolder, `${built.name}-${digest.digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder
  const temporary = `${folder}.${process.pid}`
  mkdirSync(temporary, { recursive: true })
  for (const { path, contents } of built.outputFiles) writeFileSync(join(temporary, basename(path)), contents)
  try {
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** `main.ts` in JavaScript: what it starts with has no types for Node to take away. */
async function writeLauncher(
  root: string,
  { name, inputs }: { readonly name: ProgramName; readonly inputs: Map<string, SourceStamp> },
): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'packages', name, 'src', 'main.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    plugins: [readSources(join(root, 'packages'), inputs)],
    write: false,
    logLevel: 'silent',
  })
  for (const { contents } of outputFiles) {
    mkdirSync(join(root, programsFolder, name), { recursive: true })
    writeWhole(join(root, programsFolder, name, 'main.mjs'), contents)
  }
}

function writeWhole(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.${process.pid}`, content)
  renameSync(`${path}.${process.pid}`, path)
}

function forgetOldBuilds(root: string, name: ProgramName): void {
  const folder = join(root, programsFolder)
  const builds = readdirSync(folder)
    .filter((entry) => /^\w+-[\da-f]{16}$/.test(entry) && entry.startsWith(name))
    .map((entry) => ({ path: join(folder, entry), madeMs: statSync(join(folder, entry)).mtimeMs }))
    .toSorted((left, right) => right.madeMs - left.madeMs)
  for (const { path } of builds.slice(buildsKept)) rmSync(path, { recursive: true, force: true })
}
