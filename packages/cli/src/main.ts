#!/usr/bin/env node
import * as fs from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtProgram } from '@flotilla/protocol/built-program'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'

// More than half of a short command goes into compiling; only what is loaded from here on is kept for the next one.
enableCompileCache(compiledModulesFolder(process.env['XDG_CACHE_HOME'], homedir()))
const built = builtProgram(fs, join(import.meta.dirname, '..', '..', '..'), 'cli')
type Program = typeof import('./run-command-line.ts')
const module = pathToFileURL(built ?? join(import.meta.dirname, 'run-command-line.ts'))
const { runCommandLine } = (await import(module.href)) as Program

process.exitCode = await runCommandLine(process.argv.slice(2))
// A terminal that is still being read from would keep the process alive.
process.stdin.destroy()
