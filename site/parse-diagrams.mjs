import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import purify from 'dompurify'

/**
 * Parses every Mermaid diagram of the documents with the library that draws it, so that a broken diagram fails the
 * build and not the reader's page. Mermaid cleans labels with DOMPurify, which has no functions without a browser;
 * nothing is drawn here, so labels stay as they are.
 */
Object.assign(purify, { addHook: () => {}, removeHook: () => {}, sanitize: (text) => text })
const { default: mermaid } = await import('mermaid')

const root = join(import.meta.dirname, '..')
let parsed = 0
for (const path of globSync(['*.md', 'docs/**/*.md'], { cwd: root })) {
  const diagrams = readFileSync(join(root, path), 'utf8').matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)
  for (const [, diagram] of diagrams) {
    await mermaid.parse(diagram).catch((error) => {
      throw new Error(`${path} has a diagram that Mermaid cannot parse: ${error.message}`)
    })
    parsed += 1
  }
}
if (parsed === 0) throw new Error('no document has a diagram')
console.log(`All ${parsed} diagrams parse.`)
