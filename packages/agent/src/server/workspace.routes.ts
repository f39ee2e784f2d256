import { wireLimits } from '@flotilla/protocol/limits'
import { refuseIdentityFile } from '../builtin-tools/files.ts'
import type { DataFiles } from '../files/data-files.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { answered } from './http-server.ts'
import type { Routes } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson, refuseLongBody } from './read-body.ts'

type WorkspaceRoutes = Pick<
  Routes,
  'workspaceList' | 'workspaceRead' | 'workspaceWrite' | 'fileWrite' | 'fileRead' | 'fileList'
>

/** The workspace files by name, and any other file below /data as bytes. */
export function workspaceRoutes(deps: { workspace: Workspace; files: DataFiles }): WorkspaceRoutes {
  const { workspace, files } = deps
  return {
    workspaceList: async () => ({ files: await workspace.list() }),
    workspaceRead: async ({ params }) => {
      const filename = params['file'] ?? ''
      return { filename, content: await workspace.read(filename) }
    },
    workspaceWrite: async ({ request, params }) => {
      const body = await readJson(request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { content } = parseWith(agentApi.workspaceWrite.request, body)
      return workspace.write(params['file'] ?? '', content)
    },
    fileWrite: async ({ request, params }) => {
      const maxBytes = wireLimits.uploadMaxBytes
      refuseLongBody(request, maxBytes)
      const path = params['path'] ?? ''
      const size = await files.write(path, request, { maxBytes, refuse: refuseIdentityFile })
      return { path, size }
    },
    fileRead: async ({ response, params }) => {
      const { handle, sizeBytes } = await files.openFile(params['path'] ?? '')
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': sizeBytes })
      const stream = handle.createReadStream({ start: 0, end: Math.max(0, sizeBytes - 1) })
      stream.on('error', () => response.destroy())
      response.on('close', () => stream.destroy())
      stream.pipe(response)
      return answered
    },
    fileList: async ({ query }) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { keptLimits } = await import('@flotilla/protocol/kept-api')
      const { path } = parseWith(agentApi.fileList.query, { path: query.get('path') ?? '' })
      const max = keptLimits.folderEntriesMax
      const found = await files.list(path, { recursive: false, entriesMax: max + 1 })
      const entries = found
        .slice(0, max)
        .map((entry) => ({ name: entry.path, kind: entry.kind, size_bytes: entry.sizeBytes }))
      return { path, entries, more: found.length > max }
    },
  }
}
