#!/usr/bin/env node
// Runs the program with the pinned Node; the same as `npm run flotilla --`.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
process.argv.splice(2, 0, 'packages/cli/src/main.ts')
await import(join(root, 'scripts', 'bootstrap.mjs'))
