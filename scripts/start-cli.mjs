// Runs the built command line in the process that `bin/flotilla` started with the pinned Node: a second process would
// take longer than a short command. Without a current build, the bootstrap installs and builds what is missing.
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { builtProgram } from '../packages/protocol/src/built-program.mjs'

const built = builtProgram(fs, dirname(import.meta.dirname), 'cli')
if (built === null) {
  process.argv.splice(2, 0, 'packages/cli/src/main.ts')
  await import('./bootstrap.mjs')
} else {
  // The program finds its help and its compile cache by the path that it was started with.
  process.argv[1] = built
  await import(built)
}
