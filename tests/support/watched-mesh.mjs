// Stands before the command of a built mesh, and runs its sources with the same arguments: functions are told by their files.
import process from 'node:process'

const [node = '', , , , ...rest] = process.argv
const main = new URL('../../packages/mesh/src/main.ts', import.meta.url)
process.argv = [node, main.pathname, ...rest]
await import(main.href)
