// Runs the sources of a mesh instead of its built command, so that functions have file names.
import process from 'node:process'

// Node and this file; then Node again, its flags, and the built program.
const [node = '', , ...given] = process.argv
const rest = given.slice(given.findIndex((word) => word.endsWith('.mjs') || word.endsWith('.ts')) + 1)
const main = new URL('../../packages/mesh/src/main.ts', import.meta.url)
process.argv = [node, main.pathname, ...rest]
await import(main.href)
