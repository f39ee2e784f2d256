#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { compiledProgramFolder } from '@flotilla/protocol/compiled-modules'

// More than half of a short command goes into compiling; only what is loaded from here on is kept for the next one.
enableCompileCache(compiledProgramFolder(process.env['XDG_CACHE_HOME'], homedir(), process.argv[1]))
const { runCommandLine } = await import('./run-command-line.ts')

process.exitCode = await runCommandLine(process.argv.slice(2))
// A terminal that is still being read from would keep the process alive.
process.stdin.destroy()
