import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { bundlePart, bundleSettings, partsFolder, splitAgent } from './split-agent.ts'
import type { SplitFile } from './split-agent.ts'

/** Inputs and outputs of an earlier bundling; `tool` is a hash of the build settings. */
const recordSchema = z.strictObject({
  tool: z.string(),
  inputs: z.record(z.string(), z.string()),
  names: z.array(z.string()),
  bundleHash: z.string(),
})

/** The version of the build procedure; records of another version are ignored. */
const splitVersion = 2

export interface BundledFile {
  /** The file's path in the image, relative to the agent: `agent.cjs`, `late.cjs`, `parts/tokenizer.cjs`. */
  readonly name: string
  readonly path: string
}

export interface AgentBundle {
  /** The files, `agent.cjs` first. If built here, their path contains a hash and their content never changes. */
  readonly files: readonly BundledFile[]
  /** SHA-256 of all files, in hex. */
  readonly hash: string
}

/**
 * Bundles the agent into files without dependencies: one that every start loads, one with late imports
 * (`splitAgent`), and one for each file of `parts/` beside the entry, so that heavy, rarely used code costs
 * nothing until it is needed. Unchanged sources are recognized by their content in milliseconds; the bundler
 * is loaded only after a change.
 */
export async function bundleAgent(options: {
  readonly entry: string
  readonly cacheDirectory: string
}): Promise<AgentBundle> {
  const { entry, cacheDirectory } = options
  if (basename(entry) === packedEntry) return bundleBeside(entry)
  await mkdir(cacheDirectory, { recursive: true })
  const recordPath = join(cacheDirectory, `bundle-${hashOf(entry).slice(0, 12)}.json`)
  const known = await readRecord(recordPath)
  if (known && sameParts(known.names, await partsBeside(entry)) && (await unchanged(known.inputs))) {
    const bundle = bundleAt(cacheDirectory, known)
    if ((await hashOfFiles(bundle.files)) === known.bundleHash) return bundle
  }
  const outputs = await agentFiles(entry)
  const names = outputs.map(({ name }) => name)
  const bundleHash = hashOfContents(outputs)
  const bundle = bundleAt(cacheDirectory, { names, bundleHash })
  await writeFiles(cacheDirectory, bundle, outputs)
  const inputs: Record<string, string> = {}
  for (const file of new Set(outputs.flatMap((output) => output.inputs))) {
    inputs[file] = hashOf(await readFile(file))
  }
  await writeWhole(recordPath, JSON.stringify({ tool: toolHash(), inputs, names, bundleHash }))
  return bundle
}

/** Builds the agent's files and returns them; `agent.cjs` is the first. */
export async function agentFiles(entry: string): Promise<readonly SplitFile[]> {
  const files = [...(await splitAgent(entry))]
  for (const part of await partsBeside(entry)) files.push(await bundlePart(part.source, part.name))
  return files
}

/** Name of the agent's file in the npm package; the image starts that file. */
const packedEntry = 'agent.cjs'

/** Returns the agent of an installed npm package, whose files are in the same folder as its entry. */
async function bundleBeside(entry: string): Promise<AgentBundle> {
  const folder = dirname(entry)
  const found = await readdir(folder, { recursive: true })
  const [main, others] = [basename(entry), found.filter((name) => name.endsWith('.cjs')).toSorted()]
  const names = [main, ...others.filter((name) => name !== main)]
  const files = names.map((name) => ({ name, path: join(folder, name) }))
  const contents = await Promise.all(
    files.map(async ({ name, path }) => ({ name, content: await readFile(path) })),
  )
  return { files, hash: hashOfContents(contents) }
}

async function partsBeside(entry: string): Promise<readonly { name: string; source: string }[]> {
  const folder = join(dirname(entry), partsFolder)
  const found = await readdir(folder).catch(() => [])
  return found
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .toSorted()
    .map((name) => ({
      name: `${partsFolder}/${basename(name, '.ts')}.cjs`,
      source: join(folder, name),
    }))
}

function sameParts(names: readonly string[], parts: readonly { name: string }[]): boolean {
  const known = names.filter((name) => name.startsWith(`${partsFolder}/`))
  return known.join() === parts.map(({ name }) => name).join()
}

function bundleAt(
  cacheDirectory: string,
  { names, bundleHash }: { readonly names: readonly string[]; readonly bundleHash: string },
): AgentBundle {
  const folder = join(cacheDirectory, `agent-${bundleHash.slice(0, 16)}`)
  return { files: names.map((name) => ({ name, path: join(folder, name) })), hash: bundleHash }
}

/** Writes all files or none. Another process can write the same files concurrently without harm. */
async function writeFiles(
  cacheDirectory: string,
  bundle: AgentBundle,
  outputs: readonly SplitFile[],
): Promise<void> {
  const temporary = join(cacheDirectory, `agent-new-${process.pid}`)
  await rm(temporary, { recursive: true, force: true })
  for (const { name, content } of outputs) {
    await mkdir(dirname(join(temporary, name)), { recursive: true })
    await writeFile(join(temporary, name), content)
  }
  const [main] = bundle.files
  const folder = main === undefined ? temporary : dirname(main.path)
  try {
    await rename(temporary, folder)
  } catch {
    // The folder exists: another process completed it, or it is damaged and is replaced now.
    if ((await hashOfFiles(bundle.files)) !== bundle.hash) {
      await rm(folder, { recursive: true, force: true })
      await rename(temporary, folder)
    }
    await rm(temporary, { recursive: true, force: true })
  }
}

async function readRecord(path: string) {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  try {
    const record = recordSchema.parse(JSON.parse(text))
    return record.tool === toolHash() ? record : null
  } catch {
    // After a damaged record or one of an older format, the agent is only bundled again.
    return null
  }
}

function toolHash(): string {
  return hashOf(JSON.stringify([bundleSettings, splitVersion]))
}

async function unchanged(inputs: Readonly<Record<string, string>>): Promise<boolean> {
  const same = await Promise.all(
    Object.entries(inputs).map(async ([file, hash]) => {
      const content = await readFile(file).catch(() => null)
      return content !== null && hashOf(content) === hash
    }),
  )
  return same.every(Boolean)
}

async function hashOfFiles(files: readonly BundledFile[]): Promise<string | null> {
  try {
    return hashOfContents(
      await Promise.all(files.map(async ({ name, path }) => ({ name, content: await readFile(path) }))),
    )
  } catch {
    return null
  }
}

function hashOfContents(files: readonly { readonly name: string; readonly content: Uint8Array }[]): string {
  return hashOf(files.map(({ name, content }) => `${name}:${hashOf(content)}\n`).join(''))
}

async function writeWhole(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, content)
  await rename(temporary, path)
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
