import { meshAgentApi, meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { toolApi, toolEndpoints } from '@flotilla/protocol/tool-api'
import type { AgentSurface } from '@flotilla/identity/http'
import { answering } from '@flotilla/foundation/storage'
import type { ArtifactRow } from './artifact-table.ts'
import { artifactView } from './artifact-view.ts'
import type { Artifacts } from './artifacts.ts'

/** The maximum size of a request that saves an artifact, in bytes: its content is base64. */
const bodyMaxBytes = 3 * 1024 * 1024

export function artifactAgentRoutes({ bind }: AgentSurface, artifacts: Artifacts): void {
  const saving = { ...meshAgentApi.saveArtifact, bodyMaxBytes }
  bind(meshAgentEndpoints.saveArtifact, saving, ({ caller, body, effect }) =>
    effect(body).resumable<ReturnType<typeof savedView>>(async (step) => {
      const { content_base64: contentBase64, ...named } = body
      return savedView(await artifacts.save(caller, { ...named, contentBase64 }, answering(step, savedView)))
    }),
  )
  bind(toolEndpoints.artifacts, toolApi.artifacts, ({ caller, query }) => {
    const { rows, more } =
      query.shared === 'true'
        ? artifacts.listShared(caller)
        : artifacts.listOf(caller, query.agent ?? caller.agentId)
    return { artifacts: rows.map(artifactView), more }
  })
  bind(toolEndpoints.artifact, toolApi.artifact, async ({ caller, params, query }) => {
    const { row, content } = await artifacts.read(caller, query.agent ?? caller.agentId, params.name)
    return { ...artifactView(row), content_base64: content.toString('base64') }
  })
}

function savedView({ name, sizeBytes, sha256 }: ArtifactRow) {
  return { name, size_bytes: sizeBytes, sha256 }
}
