import { wireLimits } from '@flotilla/protocol/limits'
import { mcpHumanApi, mcpHumanEndpoints } from '@flotilla/protocol/mcp-api'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { PeopleSurface } from '../http/index.ts'
import type { createListMcpServers } from './mcp-servers.ts'
import type { WorkspaceFiles } from './workspace-files.ts'

export function agentPeopleRoutes(
  { bind, scope }: PeopleSurface,
  use: { readonly files: WorkspaceFiles; readonly listMcpServers: ReturnType<typeof createListMcpServers> },
): void {
  scope.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  const upload = { ...api.fileWrite, bodyMaxBytes: wireLimits.uploadMaxBytes }
  bind(endpoints.fileWrite, upload, ({ caller, raw, params: { id: agentId, path } }) => {
    const content = Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0)
    return use.files.write(caller, { agentId, path, content })
  })
  bind(mcpHumanEndpoints.mcpServers, mcpHumanApi.mcpServers, ({ caller, params }) =>
    use.listMcpServers(caller, params.id),
  )
}
