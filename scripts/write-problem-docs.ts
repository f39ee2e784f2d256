import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { problemDocs } from './problem-docs.ts'

writeFileSync(join(import.meta.dirname, '..', 'docs', 'problems.md'), problemDocs())
