import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { compiledProgramFolder } from '@flotilla/protocol/compiled-modules'

/**
 * `main.ts <serve|prepare|doctor|verify-journal|begin-journal|reset|session> [--home H] [--port P] [--agent-port P]
 * [--runtime R]`. The command line and the tests start this program; its standard output is JSON lines, among them
 * progress and the problem that ended the program.
 *
 * Reading and compiling six hundred files takes half of a start, and after a kill all users wait for a start. So each
 * process caches its compiled code for the next one. The cache contains only modules that are imported below.
 */
enableCompileCache(compiledProgramFolder(process.env['XDG_CACHE_HOME'], homedir(), process.argv[1]))
const { runCommandLine } = await import('./app/run-command-line.ts')

process.exitCode = await runCommandLine(process.env)
// Ends a finished command even if sockets of the engine or of undici are still open.
setTimeout(() => process.exit(), 2000).unref()
