import * as fs from 'node:fs'
import { join } from 'node:path'
import { programFile } from '@flotilla/protocol/built-program'

export const repositoryRoot = join(import.meta.dirname, '..', '..', '..', '..')

/** The program of the mesh. The command line starts it and never imports it. */
export const meshMain = (): string => programFile(fs, repositoryRoot, 'mesh')

export function meshFilePath(home: string): string {
  return join(home, 'data', 'mesh.json')
}

/** Whether the home holds the seed of a wallet: what its addresses hold would go with it. */
export function holdsWallet(home: string): boolean {
  return fs.existsSync(join(home, 'data', 'wallet-seed'))
}

/** Log of a mesh that was started by this command line; owner only. */
export function meshLogPath(home: string): string {
  return join(home, 'data', 'mesh.log')
}
