import { promises } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '../door-token.ts'
import { removeFile, writeAtomically } from './atomic-file.ts'
import { systemCodeOf as codeOf } from '@flotilla/protocol/system-error-code'

/** Together enough for the checkpoint, the conversation and the outcome of a run. */
const reservePieces = 8
const pieceBytes = 256 * 1024

/** Whether the disk has no more room, or allows no larger file. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error))
}

/** Whether the system lets this process write nothing, whatever the path; a program may put a folder where a file belongs. */
export function isWritingOver(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'EIO', 'EROFS', 'ENOMEM'].includes(codeOf(error))
}

/**
 * The agent's own state is written even where its programs have filled the disk: then a reserve is given up for it,
 * piece by piece, so that the run can go on, hear of the full disk, and make room. Rejects with the system's error
 * where that is used up too.
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
 * Resolves once a file of the agent's own state was written, and rejects where none can be (`isWritingOver`). A full
 * disk counts as written: the run goes on there, hears of it, and makes room.
 */
export async function tryState(dataDirectory: string): Promise<void> {
  try {
    await writeAtomically(join(dataDirectory, stateFolder, 'pulse'), '')
  } catch (error) {
    if (isWritingOver(error)) throw error
  }
}

/** Lays down what is missing of the reserve. A disk without room for it is no error. */
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
    // Opened only where nothing is: a pipe that a program put there would hold this process for good.
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
