import * as fs from 'node:fs'
import { join } from 'node:path'
import { buildOutdated } from './build-outdated.mjs'
import { builtProgram, programFile } from '@flotilla/protocol/built-program'

export const repositoryRoot = join(import.meta.dirname, '..', '..', '..', '..')

/**
 * The program of the mesh. The command line starts it and never imports it. In a checkout this is where outdated
 * programs and pages are built: commands that only ask a running mesh do not read the dates of all sources.
 */
export function meshMain(): string {
  buildOutdated(repositoryRoot, process.execPath, process.env)
  return meshForReading()
}

/** The same program for a command that only reads the home, which needs neither pages nor the agent's program. */
export function meshForReading(): string {
  const built = builtProgram(fs, repositoryRoot, 'mesh')
  if (built !== null) return built
  buildOutdated(repositoryRoot, process.execPath, process.env)
  return programFile(fs, repositoryRoot, 'mesh')
}

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
