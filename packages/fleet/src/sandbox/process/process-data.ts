import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, mkdir, open, readdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@flotilla/protocol/clock'
import { readWhileHeld } from '../hold-while-reading.ts'
import { requirePipes } from '../run-command.ts'
import { dataThere, SandboxError } from '../sandbox-error.ts'
import type { DataReading } from '../sandbox-runtime.ts'

/** File names are bytes; with another locale, `tar` would convert them to UTF-8 and back. */
const tarProgram = ['env', 'LC_ALL=C', 'tar'] as const
/** The exit code of the system's `tar` if a file changed while it was read. */
const changedCode = 1

/** Reads `data` in the agent's `folder`; null if it does not exist. `group`: the agent's process group, if any. */
export async function readProcessData(
  folder: string,
  { group, clock }: { readonly group: number | null; readonly clock: Clock },
): Promise<DataReading | null> {
  const opened = await openData(join(folder, 'data'))
  if (opened === null) return null
  const isHeld = group !== null && signalGroup(group, 0)
  const resume = (): void => {
    if (group !== null) signalGroup(group, 'SIGCONT')
  }
  const { tar, end } = await started(opened, isHeld ? group : null)
  return readWhileHeld({
    tar,
    isHeld: isHeld || group === null,
    release: async () => resume(),
    close: async () => {
      await end()
      // The shell may have been killed just after it stopped the group; nothing stops the group after this call.
      resume()
    },
    clock,
  })
}

/**
 * Opens the folder; null if it does not exist. An agent could replace the folder by a symbolic link, so links are
 * refused, and `tar` gets the open folder and not its path. Below the folder, `tar` follows no links.
 */
async function openData(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'ENOENT') return null
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error
    throw new SandboxError(
      'data-unread',
      `${path} is a symbolic link or a file in place of a folder.\nRepair: put the folder back.`,
    )
  }
}

/**
 * A shell script that stops the agent's process group, runs `tar` and continues the group. The shell survives if the
 * mesh is killed: `tar` then ends at its next write to the closed pipe.
 */
const heldWhile = 'kill -s STOP -- "-$0"; "$@"; code=$?; kill -s CONT -- "-$0"; exit $code'

/** The file descriptor number of the open folder in `tar`. */
const folderNumber = 3
const packWords = ['--create', '--file=-', '--format=pax', `--directory=/proc/self/fd/${folderNumber}`, '.']

/** Starts `tar` and closes the mesh's own handle of the folder; `tar` has a copy of the handle. */
async function started(folder: FileHandle, group: number | null) {
  try {
    return startPacking(folder.fd, group)
  } finally {
    await folder.close()
  }
}

function startPacking(folder: number, group: number | null) {
  const tar = [...tarProgram, ...packWords] as const
  const [program, ...words] = group === null ? tar : (['sh', '-c', heldWhile, String(group), ...tar] as const)
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe', folder] })
  requirePipes(child)
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new TypeError('a piped stream of a program is missing')
  // Node discards the unread output of a program that has ended, unless a listener exists.
  stdout.on('readable', () => {})
  let errors = ''
  stderr.on('data', (piece: Buffer) => (errors = (errors + piece.toString()).slice(-400)))
  const [exited, ended] = [once(child, 'exit'), once(child, 'close')]
  // Both promises are awaited below; until then a missing program must not cause an unhandled rejection.
  for (const end of [exited, ended]) end.catch(() => {})

  async function* packed(output: Readable): AsyncGenerator<Uint8Array> {
    yield* output
    await ended
    if (child.exitCode !== 0 && child.exitCode !== changedCode) {
      throw new SandboxError(
        'data-unread',
        `Reading the data of an agent failed: tar reported: ${errors}\nRepair: check the permissions of these files.`,
      )
    }
  }

  /** Ends the program and resolves once it has exited. */
  async function end(): Promise<void> {
    stdout?.destroy()
    child.kill('SIGKILL')
    await exited.catch(() => {})
  }

  return { tar: packed(stdout), end }
}

/** Restores an agent's data (S10). `tar` refuses names outside of the folder and creates links last. */
export async function writeProcessData(folder: string, tar: AsyncIterable<Uint8Array>): Promise<void> {
  const data = join(folder, 'data')
  if ((await readdir(data).catch(() => [])).length > 0) throw dataThere(data)
  await mkdir(data, { recursive: true, mode: 0o700 })
  const [program, ...first] = tarProgram
  const child = spawn(
    program,
    [
      ...first,
      '--extract',
      '--file=-',
      `--directory=${data}`,
      '--no-same-owner',
      '--same-permissions',
      '--no-overwrite-dir',
      '--delay-directory-restore',
    ],
    { stdio: ['pipe', 'ignore', 'pipe'] },
  )
  requirePipes(child)
  let errors = ''
  child.stderr.on('data', (piece: Buffer) => (errors = (errors + piece.toString()).slice(-400)))
  const ended = once(child, 'close')
  ended.catch(() => {})
  await pipeline(Readable.from(tar), child.stdin)
  await ended
  if (child.exitCode !== 0) {
    throw new SandboxError(
      'data-unwritten',
      `Writing the data of an agent failed: tar reported: ${errors}\nRepair: check the free space on the disk of the home.`,
    )
  }
}

/** Sends a signal to a process group; false if the group does not exist. Signal 0 only checks that. */
export function signalGroup(group: number, name: 'SIGCONT' | 0): boolean {
  try {
    process.kill(-group, name)
    return true
  } catch {
    return false
  }
}
