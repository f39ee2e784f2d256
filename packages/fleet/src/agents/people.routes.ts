import { wireLimits } from '@flotilla/protocol/limits'
import { keptApi as kept, keptEndpoints as paths } from '@flotilla/protocol/kept-api'
import { mcpHumanApi, mcpHumanEndpoints } from '@flotilla/protocol/mcp-api'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import { sendHeld } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { KeptThings } from './kept-things.ts'
import type { createListMcpServers } from './mcp-servers.ts'
import type { WorkspaceFiles } from './workspace-files.ts'

export function agentPeopleRoutes(
  surface: PeopleSurface,
  use: {
    readonly files: WorkspaceFiles
    readonly things: KeptThings
    readonly listMcpServers: ReturnType<typeof createListMcpServers>
  },
): void {
  const { bind, scope } = surface
  // Each request body is the content of a file, whatever content type the client sends.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const upload = { ...api.fileWrite, bodyMaxBytes: wireLimits.uploadMaxBytes }
  bind(endpoints.fileWrite, upload, ({ caller, raw, params: { id: agentId, path } }) => {
    // A request without a body writes an empty file.
    const content = Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0)
    return use.files.write(caller, { agentId, path, content })
  })
  bind(mcpHumanEndpoints.mcpServers, mcpHumanApi.mcpServers, ({ caller, params }) =>
    use.listMcpServers(caller, params.id),
  )
  keptRoutes(surface, use.things)
}

function keptRoutes({ bind, downloads }: PeopleSurface, things: KeptThings): void {
  bind(paths.identityFiles, kept.identityFiles, ({ caller, params }) =>
    things.identityFiles(caller, params.id),
  )
  bind(paths.identityFile, kept.identityFile, ({ caller, params }) =>
    things.identityFile(caller, params.id, params.file),
  )
  bind(paths.folder, kept.folder, ({ caller, params, query }) => things.folder(caller, params.id, query.path))
  bind(paths.fileRead, kept.fileRead, async ({ caller, params, reply }) => {
    const { name, ...file } = await downloads.pass({ caller, reply }, (gone) =>
      things.file(caller, params.id, { path: params.path, gone }),
    )
    return sendHeld(reply, { name, type: 'application/octet-stream', ...file })
  })
  bind(paths.pictureRead, kept.pictureRead, async ({ caller, params, reply }) => {
    const picture = await downloads.pass({ caller, reply }, (gone) =>
      things.picture(caller, params.id, { sha256: params.sha256, gone }),
    )
    return sendHeld(reply, { name: `picture.${picture.type.slice('image/'.length)}`, ...picture })
  })
  bind(paths.facts, kept.facts, ({ caller, params, query }) => things.facts(caller, params.id, query))
  bind(paths.factForget, kept.factForget, ({ caller, params }) =>
    things.forgetFact(caller, params.id, params.fact),
  )
  bind(paths.agentTools, kept.agentTools, ({ caller, params }) => things.tools(caller, params.id))
  bind(paths.agentLogs, kept.agentLogs, ({ caller, params, query, reply }) =>
    downloads.pass({ caller, reply }, () => things.logs(caller, params.id, query.lines)),
  )
}
