import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import * as z from 'zod/mini'
import { CommandFailed } from '../command-failed.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'

/** A package of Flotilla from `npm pack` that was verified but not unpacked. */
export interface ReadPackage {
  readonly file: string
  readonly version: string
  readonly sha256: string
}

/** Limit for the list of some thousand file names, and for package.json. */
const listingMaxBytes = 16 * 1024 * 1024
/** Time limit for reading a whole package on a slow disk, in milliseconds. */
const readingMaxMs = 120_000

const manifestSchema = z.looseObject({
  name: z.literal('flotilla'),
  version: z.string().check(z.regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)),
})

/** The files that every package must contain. */
const parts = ['package.json', 'bin/flotilla', 'dist/package/cli/main.mjs', 'dist/package/mesh/main.mjs']

/** Reads a whole package. Rejects with CommandFailed if it is not Flotilla, incomplete, or for another machine. */
export async function readPackage(file: string, sha256Wanted: string | undefined): Promise<ReadPackage> {
  const sha256 = await digestOf(file)
  if (sha256Wanted !== undefined && sha256Wanted.toLowerCase() !== sha256) {
    throw new CommandFailed('package-unsound', {
      detail: `${file} has the SHA-256 ${sha256}, which differs from --sha256.`,
      repair: 'Download the file again, or correct the digest after --sha256.',
    })
  }
  const names = new Set((await tar(file, ['--list'])).split('\n'))
  const required = [...parts, `node_modules/node-linux-${process.arch}/bin/node`]
  const missing = required.filter((name) => !names.has(`package/${name}`))
  // Names with which tar would write outside of the package's folder.
  const strange = [...names].filter(
    (name) => name !== '' && (!name.startsWith('package/') || /(^|\/)\.\.(\/|$)/.test(name)),
  )
  if (missing.length > 0 || strange.length > 0) {
    throw unsound(
      file,
      missing.length > 0
        ? `the package has no ${missing[0] ?? ''}`
        : `the package contains ${strange[0] ?? ''}`,
    )
  }
  const manifest = manifestSchema.safeParse(
    parseJsonLine(await tar(file, ['--extract', '--to-stdout', 'package/package.json'])),
  )
  if (!manifest.success) throw unsound(file, 'the package.json is not that of Flotilla')
  return { file, version: manifest.data.version, sha256 }
}

/** Whether the first of two versions is older than the second. Pure. */
export function isOlder(one: string, other: string): boolean {
  const numbers = (version: string) => version.split('-', 1)[0]?.split('.').map(Number) ?? []
  const [left, right] = [numbers(one), numbers(other)]
  for (const [at, number] of left.entries()) {
    const beside = right[at] ?? 0
    if (number !== beside) return number < beside
  }
  return one.includes('-') && !other.includes('-')
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash).catch((error: unknown) => {
    throw unsound(file, error instanceof Error ? error.message : 'it cannot be read')
  })
  return hash.digest('hex')
}

async function tar(file: string, args: readonly string[]): Promise<string> {
  try {
    const options = { maxBuffer: listingMaxBytes, timeout: readingMaxMs }
    // Without `--force-local` tar would treat a colon in a path as the name of another machine.
    const all = ['--force-local', '--gzip', '--file', file, ...args]
    return (await promisify(execFile)('tar', all, options)).stdout
  } catch (error) {
    const stderr: unknown = Reflect.get(Object(error), 'stderr')
    throw unsound(
      file,
      typeof stderr === 'string' && stderr !== '' ? stderr.trim().slice(-200) : String(error),
    )
  }
}

function unsound(file: string, why: string): CommandFailed {
  return new CommandFailed('package-unsound', {
    detail: `${file} is not a package of Flotilla that can be installed here: ${why}.`,
    repair: 'Name the file that npm pack wrote: flotilla upgrade --from flotilla-VERSION.tgz',
  })
}
