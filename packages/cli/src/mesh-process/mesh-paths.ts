import * as fs from 'node:fs'
import { join } from 'node:path'
import { programFile } from '@flotilla/protocol/built-program'

export const repositoryRoot = join(import.meta.dirname, '..', '..', '..', '..')

/** The program of the mesh. The command line starts it and never imports it. */
export const meshMain = (): string => programFile(fs, repositoryRoot, 'mesh')

/** The program of the command line. */
export const cliMain = (): string => programFile(fs, repositoryRoot, 'cli')

export function meshFilePath(home: string): string {
  return join(home, 'data', 'mesh.json')
}

/** The file that the first start of a mesh writes: a home without it has no fleet. */
export function homeIdPath(home: string): string {
  return join(home, 'data', 'home-id')
}

/** Whether the home contains the seed of a wallet: deleting it would lose the funds of its addresses. */
export function holdsWallet(home: string): boolean {
  return fs.existsSync(join(home, 'data', 'wallet-seed'))
}

/** Log file of a mesh that this command line started; readable by the owner only. */
export function meshLogPath(home: string): string {
  return join(home, 'data', 'mesh.log')
}
