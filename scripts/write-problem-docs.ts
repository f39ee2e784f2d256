import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { problemDocs } from './problem-docs.ts'
import { toolDocs } from './tool-docs.ts'

const docs = join(import.meta.dirname, '..', 'docs')
writeFileSync(join(docs, 'problems.md'), problemDocs())
writeFileSync(join(docs, 'tools.md'), toolDocs())
