import { promises } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '../door-token.ts'
import { removeFile, writeAtomically } from './atomic-file.ts'
import { codeOf } from './walk-path.ts'

/** The reserve consists of this many pieces: enough for the checkpoint, conversation and outcome of a run. */
const reservePieces = 8
const pieceBytes = 256 * 1024

/** Whether the disk is full or allows no larger file. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error))
}

/**
 * Returns true if the system lets this process write no file at all, whatever the path. Other errors may come from a
 * program that put a folder where a file belongs.
 */
export function isWritingOver(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'EIO', 'EROFS', 'ENOMEM'].includes(codeOf(error))
}

/**
 * Writes the agent's own state even if its programs have filled the disk: then it deletes a reserve, piece by piece,
 * so that the run can continue, learn of the full disk, and make room. Rejects with the system's error when the
 * reserve is used up.
 */
export async function writeState(dataDirectory: string, path: string, content: string): Promise<void> {
  for (let piece = 0; ; piece++) {
    try {
      return await writeAtomically(path, content)
    } catch (error) {
      if (!isDiskFull(error) || piece >= reservePieces) throw error
      await removeFile(pieceOf(dataDirectory, piece))
    }
  }
}

/**
 * Resolves once a file of the agent's own state was written, and rejects where none can be written
 * (`isWritingOver`). A full disk counts as written: the run continues, learns of it, and makes room.
 */
export async function tryState(dataDirectory: string): Promise<void> {
  try {
    await writeAtomically(join(dataDirectory, stateFolder, 'pulse'), '')
  } catch (error) {
    if (isWritingOver(error)) throw error
  }
}

/** Recreates what is missing of the reserve. A disk without room for it is no error. */
export async function keepReserve(dataDirectory: string): Promise<void> {
  const folder = reserveOf(dataDirectory)
  const there = new Set(await promises.readdir(folder).catch(() => []))
  if (there.size >= reservePieces) return
  const content = Buffer.alloc(pieceBytes)
  try {
    await promises.mkdir(folder, { recursive: true, mode: 0o700 })
    for (let piece = 0; piece < reservePieces; piece++) {
      if (!there.has(String(piece))) await layDown(pieceOf(dataDirectory, piece), content)
    }
  } catch (error) {
    if (!isDiskFull(error)) throw error
  }
}

async function layDown(path: string, content: Buffer): Promise<void> {
  try {
    // Fails if the path exists: if a program put a pipe there, opening it would block this process forever.
    await promises.writeFile(path, content, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    await removeFile(path)
    throw error
  }
}

function reserveOf(dataDirectory: string): string {
  return join(dataDirectory, stateFolder, 'reserve')
}

function pieceOf(dataDirectory: string, piece: number): string {
  return join(reserveOf(dataDirectory), String(piece))
}
