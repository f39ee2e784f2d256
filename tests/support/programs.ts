import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { builtProgram, programFile } from '@flotilla/protocol/built-program'

const root = resolve(import.meta.dirname, '..', '..')

/** The command line program: its build if it is up to date with the sources (`npm test` builds first). */
export const cliProgram = programFile(fs, root, 'cli')
/** The path is determined at each start, because a test may have built the program. */
export const meshProgram = (): string => programFile(fs, root, 'mesh')
/** The agent program that the process runtime starts. */
export const agentProgram = (): string =>
  builtProgram(fs, root, 'agent') ?? join(root, 'packages', 'agent', 'src', 'main.ts')

/** The user's cache folder: compiled code is shared between starts of all homes. */
export const userCaches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
