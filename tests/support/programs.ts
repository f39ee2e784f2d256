import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { builtProgram, programFile } from '@flotilla/protocol/built-program'

const root = resolve(import.meta.dirname, '..', '..')

/** What people start: as it was built, where it was of just these sources (`npm test` begins with that). */
export const cliProgram = programFile(fs, root, 'cli')
/** Looked up at each start: a test may have built it. */
export const meshProgram = (): string => programFile(fs, root, 'mesh')
/** The agent, as one that is a plain process begins. */
export const agentProgram = (): string =>
  builtProgram(fs, root, 'agent') ?? join(root, 'packages', 'agent', 'src', 'main.ts')

/** Those of this user: what one start has compiled, the next has whatever its home. */
export const userCaches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
