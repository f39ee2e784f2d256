import { access, constants, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { packedFile } from '@flotilla/protocol/built-program'
import { CommandFailed } from '../command-failed.ts'

/** Time limit for unpacking a quarter of a gigabyte on a slow disk, in milliseconds. */
const unpackingMaxMs = 300_000
/** A package whose program does not print its version within this time counts as broken. In milliseconds. */
const trialMaxMs = 60_000

/** A prepared replacement of an installed package. */
export interface Replacement {
  /** Moves the new package to the place of the old one. */
  swap(): Promise<void>
  /** Moves the old package back. */
  swapBack(): Promise<void>
  /** Deletes the package that is not installed: the old one after a swap, else the new one. */
  clear(): Promise<void>
}

/** Rejects with CommandFailed for a clone, and for a package that this user may not replace. */
export async function requireInstalled(root: string, command: string): Promise<void> {
  if (packedFile(fs, root, 'cli/main.mjs') === null) {
    throw new CommandFailed('not-installed', {
      detail: `This is a git clone (${root}) and not an installed package.`,
      repair: `Update the sources, then restart: git pull && ${command} stop && ${command} start -d`,
    })
  }
  for (const folder of [dirname(root), root]) {
    await access(folder, constants.W_OK).catch(() => {
      throw new CommandFailed('upgrade-not-permitted', {
        detail: `${folder} belongs to another user.`,
        repair: 'Run flotilla upgrade as the user who installed it.',
      })
    })
  }
}

/**
 * Unpacks a package beside the installed one and runs it for its version, so that a package that does not run on this
 * machine is rejected before any change. npm's links stay valid, because the paths are the same.
 */
export async function prepareReplacement(
  root: string,
  request: { readonly file: string; readonly version: string; readonly signal: AbortSignal },
): Promise<Replacement> {
  const beside = join(dirname(root), `.flotilla-upgrade-${process.pid}`)
  const [fresh, old] = [join(beside, 'package'), join(beside, 'old')]
  const clear = () => rm(beside, { recursive: true, force: true, maxRetries: 3 })
  await clear()
  await mkdir(beside, { mode: 0o755 })
  const run = promisify(execFile)
  try {
    // Without `--force-local` tar would treat a colon in a path as the name of another machine.
    const args = [
      '--extract',
      '--force-local',
      '--gzip',
      '--no-same-owner',
      '--file',
      request.file,
      '--directory',
      beside,
    ]
    await run('tar', args, { timeout: unpackingMaxMs, signal: request.signal })
    const options = { timeout: trialMaxMs, signal: request.signal }
    const { stdout } = await run(join(fresh, 'bin', 'flotilla'), ['version', '--json'], options)
    if (!stdout.includes(`"flotilla":"${request.version}"`)) throw new Error(`it says ${stdout.trim()}`)
  } catch (error) {
    await clear()
    const stderr: unknown = Reflect.get(Object(error), 'stderr')
    throw new CommandFailed('package-unsound', {
      detail: `The new package does not run here: ${typeof stderr === 'string' && stderr !== '' ? stderr.trim().slice(-400) : String(error)}`,
      repair: 'Nothing was changed. Check that the package is for this machine and that the disk has space.',
    })
  }
  return {
    clear,
    async swap() {
      await rename(root, old)
      await rename(fresh, root).catch(async (error: unknown) => {
        await rename(old, root)
        throw error
      })
    },
    async swapBack() {
      await rename(root, fresh)
      await rename(old, root)
    },
  }
}

/** Returns homes and processes of other meshes that run from the package: replacing it would remove their modules. */
export async function othersThatRun(root: string, pid: number | null): Promise<readonly string[]> {
  const found: string[] = []
  for (const name of (await readdir('/proc').catch(() => [])).filter((entry) => /^\d+$/.test(entry))) {
    const args = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const isMesh = args.some(
      (word) => word.startsWith(join(root, 'dist')) && basename(dirname(word)) === 'mesh',
    )
    if (!isMesh || !args.includes('serve') || Number(name) === pid) continue
    found.push(`${args[args.indexOf('--home') + 1] ?? 'a home'} (process ${name})`)
  }
  return found
}
