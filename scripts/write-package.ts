import { join } from 'node:path'
import { writePackage } from './package/write-package.ts'

// npm runs this script before it packs, and removes the written files afterwards.
await writePackage(join(import.meta.dirname, '..'))
