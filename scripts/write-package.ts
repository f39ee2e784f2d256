import { join } from 'node:path'
import { writePackage } from './package/write-package.ts'

// npm runs it before it packs, and takes away what it wrote afterwards.
await writePackage(join(import.meta.dirname, '..'))
