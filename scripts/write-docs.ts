import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import allowed from '../tests/plain-words-allowed.json' with { type: 'json' }
import { countAvoidedWords, lowered } from '../tests/plain-words.ts'
import { generatedDocs } from './generated-docs.ts'

for (const [path, text] of await generatedDocs()) writeFileSync(join(import.meta.dirname, '..', path), text)

const allowList = join(import.meta.dirname, '..', 'tests', 'plain-words-allowed.json')
writeFileSync(allowList, `${JSON.stringify(lowered(allowed, countAvoidedWords()), undefined, 2)}\n`)
