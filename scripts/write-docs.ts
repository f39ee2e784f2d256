import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedDocs } from './generated-docs.ts'

for (const [path, text] of generatedDocs()) writeFileSync(join(import.meta.dirname, '..', path), text)
