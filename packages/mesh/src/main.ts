import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { compiledProgramFolder } from '@flotilla/protocol/compiled-modules'

/**
 * `main.ts <serve|prepare|doctor|verify-journal|begin-journal|reset|session> [--home H] [--port P] [--agent-port P] [--runtime R]`.
 * The command line and the tests start it; standard output is JSON lines, among them progress and the problem
 * that ended it.
 *
 * Half of a start goes into reading and compiling six hundred files, and after a kill everybody waits for it: what one
 * life has compiled, the next loads. Only what is loaded from here on is kept.
 */
enableCompileCache(compiledProgramFolder(process.env['XDG_CACHE_HOME'], homedir(), process.argv[1]))
const { runCommandLine } = await import('./app/run-command-line.ts')

process.exitCode = await runCommandLine(process.env)
// Open sockets of the engine or of undici must not keep a finished command alive.
setTimeout(() => process.exit(), 2000).unref()
