import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'

/** What an earlier bundling read and wrote; `tool` changes when the settings below do. */
const recordSchema = z.strictObject({
  tool: z.string(),
  inputs: z.record(z.string(), z.string()),
  bundleHash: z.string(),
})

const settings = {
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
  external: [],
  logLevel: 'silent',
} as const

export interface AgentBundle {
  /** One CommonJS file; content-addressed, so it never changes under its name. */
  readonly path: string
  /** SHA-256 in hex. */
  readonly hash: string
}

/**
 * The agent as one file without dependencies. Unchanged sources are recognised by their content in milliseconds;
 * the bundler is loaded only when something changed.
 */
export async function bundleAgent(options: {
  readonly entry: string
  readonly cacheDirectory: string
}): Promise<AgentBundle> {
  await mkdir(options.cacheDirectory, { recursive: true })
  const recordPath = join(options.cacheDirectory, `bundle-${hashOf(options.entry).slice(0, 12)}.json`)
  const known = await readRecord(recordPath)
  if (known && (await unchanged(known.inputs))) {
    const path = bundlePath(options.cacheDirectory, known.bundleHash)
    const content = await readFile(path).catch(() => null)
    if (content && hashOf(content) === known.bundleHash) return { path, hash: known.bundleHash }
  }
  const { build } = await import('esbuild')
  const built = await build({
    ...settings,
    conditions: [...settings.conditions],
    external: [],
    entryPoints: [options.entry],
    absWorkingDir: '/',
    metafile: true,
    write: false,
  })
  const content = built.outputFiles[0]?.contents ?? new Uint8Array()
  const bundleHash = hashOf(content)
  const path = bundlePath(options.cacheDirectory, bundleHash)
  await writeWhole(path, content)
  const inputs: Record<string, string> = {}
  for (const input of Object.keys(built.metafile.inputs)) {
    const file = join('/', input)
    inputs[file] = hashOf(await readFile(file))
  }
  await writeWhole(recordPath, JSON.stringify({ tool: hashOf(JSON.stringify(settings)), inputs, bundleHash }))
  return { path, hash: bundleHash }
}

function bundlePath(cacheDirectory: string, hash: string): string {
  return join(cacheDirectory, `agent-${hash.slice(0, 16)}.cjs`)
}

async function readRecord(path: string) {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  try {
    const record = recordSchema.parse(JSON.parse(text))
    return record.tool === hashOf(JSON.stringify(settings)) ? record : null
  } catch {
    // A torn or older record only costs a new bundling.
    return null
  }
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

async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, content)
  await rename(temporary, path)
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
