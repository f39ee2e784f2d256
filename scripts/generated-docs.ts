import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { meshPackages } from '../tests/package-rules.ts'
import { readSourceFiles } from '../tests/source-files.ts'
import { contextDiagram } from './context-diagram.ts'
import { endpointDocs } from './endpoint-docs.ts'
import { contextEventDocs, readContextEvents, readmeLine } from './context-events.ts'
import { limitDocs } from './limit-docs.ts'
import { logLineDocs } from './log-line-docs.ts'
import { readLogLines } from './log-lines.ts'
import { problemDocs } from './problem-docs.ts'
import { settingsDocs } from './settings-docs.ts'
import { toolDocs } from './tool-docs.ts'

const root = join(import.meta.dirname, '..')
const contextsBlock = /(<!-- contexts: [^\n]*-->\n)[\s\S]*?(<!-- contexts end -->)/

const eventsLine = /^- Events that it publishes: .*$/m

/** The documents that are generated from the sources: path from the repository's root, and text. */
export async function generatedDocs(): Promise<readonly (readonly [path: string, text: string])[]> {
  const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  if (!contextsBlock.test(architecture)) throw new Error('docs/architecture.md has no block of contexts')
  const sources = readSourceFiles()
  const diagram = contextDiagram(sources)
  const events = readContextEvents(sources)
  const contexts = meshPackages.map(({ name }) => name).filter((name) => name !== 'mesh')
  return [
    ['docs/problems.md', problemDocs()],
    ['docs/tools.md', toolDocs()],
    ['docs/reference/all-settings.md', settingsDocs()],
    ['docs/reference/endpoints.md', await endpointDocs()],
    ['docs/reference/events.md', contextEventDocs(events)],
    ...contexts.map((name) => {
      const path = `packages/${name}/README.md`
      const readme = readFileSync(join(root, path), 'utf8')
      return [path, readme.replace(eventsLine, () => readmeLine(events, name))] as const
    }),
    ['docs/reference/limits.md', limitDocs(sources)],
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
