import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSourceFiles } from '../tests/source-files.ts'
import { contextDiagram } from './context-diagram.ts'
import { endpointDocs } from './endpoint-docs.ts'
import { logLineDocs } from './log-line-docs.ts'
import { readLogLines } from './log-lines.ts'
import { problemDocs } from './problem-docs.ts'
import { settingsDocs } from './settings-docs.ts'
import { toolDocs } from './tool-docs.ts'

const root = join(import.meta.dirname, '..')
const contextsBlock = /(<!-- contexts: [^\n]*-->\n)[\s\S]*?(<!-- contexts end -->)/

/** The documents that are generated from the sources: path from the repository's root, and text. */
export async function generatedDocs(): Promise<readonly (readonly [path: string, text: string])[]> {
  const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  if (!contextsBlock.test(architecture)) throw new Error('docs/architecture.md has no block of contexts')
  const sources = readSourceFiles()
  const diagram = contextDiagram(sources)
  return [
    ['docs/problems.md', problemDocs()],
    ['docs/tools.md', toolDocs()],
    ['docs/reference/all-settings.md', settingsDocs()],
    ['docs/reference/endpoints.md', await endpointDocs()],
    ['docs/reference/log-lines.md', logLineDocs(readLogLines(sources))],
    [
      'docs/architecture.md',
      architecture.replace(
        contextsBlock,
        (_all, start: string, end: string) => `${start}\n${diagram}\n\n${end}`,
      ),
    ],
  ]
}
