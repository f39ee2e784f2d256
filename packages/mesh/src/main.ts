import * as fs from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtProgram } from '@flotilla/protocol/built-program'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'

/**
 * `main.ts <serve|prepare|doctor|verify-journal|begin-journal|reset|session> [--home H] [--port P] [--agent-port P] [--runtime R]`.
 * The command line and the tests start it; standard output is JSON lines, among them progress and the problem
 * that ended it.
 *
 * Half of a start goes into reading and compiling six hundred files, and after a kill everybody waits for it: what one
 * life has compiled, the next loads. Only what is loaded from here on is kept.
 */
enableCompileCache(compiledModulesFolder(process.env['XDG_CACHE_HOME'], homedir()))
const built = builtProgram(fs, join(import.meta.dirname, '..', '..', '..'), 'mesh')
type Program = typeof import('./run-command-line.ts')
const module = pathToFileURL(built ?? join(import.meta.dirname, 'run-command-line.ts'))
const { runCommandLine } = (await import(module.href)) as Program

process.exitCode = await runCommandLine(process.env)
// Open sockets of the engine or of undici must not keep a finished command alive.
setTimeout(() => process.exit(), 2000).unref()
