import { Problem } from '@flotilla/protocol/problem'
import { workspaceFiles } from '@flotilla/protocol/workspace-file'
import type { DataFiles } from '../files/data-files.ts'
import { flag, integer, text, withDefault } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import { fitsPattern } from './name-pattern.ts'

const path = (description: string) => text(description, { minChars: 1, maxChars: 4096 })
const fileTimeoutMs = 60_000
const readMaxBytes = 10 * 1024 * 1024
/** Below the size limit of a tool result, so that the note on how to continue reading is never cut off. */
const readMaxChars = 18_000
const writeMaxChars = 1_000_000
const entriesMax = 500

export function fileTools(deps: { files: DataFiles }): Tool[] {
  const { files } = deps
  return [
    defineTool({
      name: 'read_file',
      description: 'Reads a text file below /data, by lines.',
      parameters: {
        path: path('Path below /data'),
        offset: withDefault(integer('First line, counted from 0', { min: 0, max: 1e9 }), 0),
        limit: withDefault(integer('Number of lines; 0: all that fit', { min: 0, max: 1e9 }), 0),
      },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: fileTimeoutMs,
      run: async (values) => {
        const content = await files.read(values.path, readMaxBytes)
        if (content.includes(0))
          throw new Problem('unprocessable', { detail: 'The file is not a text file.' })
        return succeeded(takeLines(content.toString('utf8'), values))
      },
    }),
    defineTool({
      name: 'write_file',
      description: 'Writes a text file below /data; missing directories are created.',
      parameters: {
        path: path('Path below /data'),
        content: text('The whole text', { maxChars: writeMaxChars }),
        append: withDefault(flag('Add to the end of the file'), false),
      },
      effect: 'local',
      timeoutMs: fileTimeoutMs,
      run: async (values) => {
        const content = Buffer.from(values.content)
        const size = await files.write(values.path, content, {
          append: values.append,
          refuse: refuseIdentityFile,
        })
        return succeeded({ path: values.path, size_bytes: size })
      },
    }),
    defineTool({
      name: 'list_files',
      description: 'Lists files and directories below /data.',
      parameters: {
        path: withDefault(path('Directory below /data'), '.'),
        pattern: withDefault(text('Pattern of names, with * and ?', { minChars: 1, maxChars: 200 }), '*'),
        recursive: withDefault(flag('Include subdirectories'), false),
      },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: fileTimeoutMs,
      run: async (values) => {
        const found = await files.list(values.path, {
          recursive: values.recursive,
          entriesMax: entriesMax * 20,
        })
        const entries = found.filter((entry) =>
          fitsPattern(values.pattern, entry.path.split('/').at(-1) ?? ''),
        )
        return succeeded({
          entries: entries.slice(0, entriesMax).map((entry) => ({
            path: entry.path,
            kind: entry.kind,
            size_bytes: entry.sizeBytes,
          })),
          more: Math.max(0, entries.length - entriesMax),
        })
      },
    }),
  ]
}

/** Only `update_workspace` may change the files that define the agent, because it enforces their size limits. */
export function refuseIdentityFile(relativePath: string): string | null {
  const file = workspaceFiles.find(
    ({ name, path }) => relativePath === path || relativePath === `workspace/${name}`,
  )
  return file ? `${file.name} can be changed only with update_workspace, if you may change it.` : null
}

/** Returns as many whole lines as a result can hold, and tells the model how to read the rest. Pure. */
export function takeLines(content: string, range: { offset: number; limit: number }): string {
  const lines = content.split('\n')
  const selected = lines.slice(range.offset, range.limit === 0 ? undefined : range.offset + range.limit)
  const taken: string[] = []
  let chars = 0
  for (const line of selected) {
    chars += line.length + 1
    if (chars > readMaxChars && taken.length > 0) break
    taken.push(line.length > readMaxChars ? `${line.slice(0, readMaxChars)} [line cut]` : line)
  }
  const next = range.offset + taken.length
  const note =
    next < lines.length ? `\n[${lines.length - next} more lines; continue with offset ${next}]` : ''
  return taken.join('\n') + note
}
